# shellcheck shell=bash
# Sourced, after cache.sh. Programs of Prometheus.

# unpack_prometheus FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
unpack_prometheus() {
  local work
  work=$(mktemp -d)
  chmod 755 "$work"
  (cd "$work" && { apt-get -qq download prometheus || { apt-get -qq update && apt-get -qq download prometheus; }; }) >&2
  dpkg-deb -x "$work"/prometheus_*.deb "$work/tree"
  cp "$work/tree/usr/bin/prometheus" "$work/tree/usr/bin/promtool" "$1/"
  rm -rf "$work"
}

# prometheus_program NAME: prints the path of `prometheus` or `promtool`. It is the one on the path, else the one in the
# distribution's package, which is unpacked and not installed, since installing it would start a server.
prometheus_program() {
  local folder
  if command -v "$1"; then return; fi
  if ! command -v apt-get >/dev/null; then
    echo "error: $1 is missing; install Prometheus and run this command again" >&2
    return 1
  fi
  folder=$(cached prometheus unpack_prometheus prometheus promtool)
  echo "$folder/$1"
}
