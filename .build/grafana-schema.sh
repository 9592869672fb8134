#!/usr/bin/env bash
# grafana-schema.sh DASHBOARD...: checks dashboards against the types that Grafana publishes of its dashboards and panels.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
# shellcheck source=SCRIPTDIR/apt.sh
. "$here/apt.sh"
version=13.2.3
sum=f492f0ec5b0212cbf7f098d5d54b4a540371c262c6b78e9016ee2d26add9e559

# download FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
download() {
  local registry=${npm_config_registry:-https://registry.npmjs.org}
  need_packages curl ca-certificates
  fetch "${registry%/}/@grafana/schema/-/schema-$version.tgz" $sum "$1/schema.tgz"
  tar -xzf "$1/schema.tgz" -C "$1" --strip-components=1 package/dist/types package/LICENSE_APACHE2
  rm "$1/schema.tgz"
}

types=$(cached "grafana-schema-$version" download)/dist/types
modules=$("$here/web.sh" modules)
node=$("$here/node.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$node" "$here/grafana-schema.mjs" "$types" "$work" "$@"
PATH=$(dirname "$node"):$PATH "$modules/.bin/tsc" -p "$work"
