#!/usr/bin/env bash
# Prints the path of Prometheus's promtool: one on the path, else the one in the distribution's package, which is
# unpacked and not installed, since installing it would start a server.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"

# unpack FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
unpack() {
  local work
  work=$(mktemp -d)
  chmod 755 "$work"
  (cd "$work" && { apt-get -qq download prometheus || { apt-get -qq update && apt-get -qq download prometheus; }; }) >&2
  dpkg-deb -x "$work"/prometheus_*.deb "$work/tree"
  cp "$work/tree/usr/bin/promtool" "$1/"
  rm -rf "$work"
}

if command -v promtool; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo "error: promtool is missing; install Prometheus and run this command again" >&2
  exit 1
fi
folder=$(cached promtool unpack prometheus)
echo "$folder/promtool"
