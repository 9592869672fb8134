#!/usr/bin/env bash
# web.sh FOLDER: fills the folder with the web page. It is built once for the same sources.
# web.sh modules: prints the folder of the npm packages, in the versions of the lock file.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
web=$here/../extender/readapi/src/main/web

# The next two are called by cached(), which shellcheck cannot see.
# shellcheck disable=SC2317,SC2329
install_modules() {
  cp "$web"/package{,-lock}.json "$1"
  local node
  node=$("$here/node.sh")
  cd "$1"
  # No script of a package is run.
  PATH=$(dirname "$node"):$PATH npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
}

# shellcheck disable=SC2317,SC2329
build_page() {
  local modules work node
  modules=$(modules)
  node=$("$here/node.sh")
  # Inside the folder, so that it is removed with it if the build fails.
  work=$1/.work
  mkdir "$work"
  cp -r "$web"/src "$web"/*.* "$work"
  ln -s "$modules/node_modules" "$work/node_modules"
  (
    cd "$work"
    PATH=$(dirname "$node"):$PATH node_modules/.bin/tsc -p .
    PATH=$(dirname "$node"):$PATH "$node" build.mjs "$1"
  )
  rm -rf "$work"
}

modules() { cached web-modules install_modules "$web/package.json" "$web/package-lock.json"; }

if [ "$1" = modules ]; then
  folder=$(modules)
  echo "$folder/node_modules"
  exit
fi
page=$(cached web build_page "$web")
mkdir -p "$1"
# Otherwise files of other sources would stay and get into the jar.
find "$1" -type f -delete
cp "$page"/* "$1"
