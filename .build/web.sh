#!/usr/bin/env bash
# web.sh FOLDER: fills the folder with the web page. It is built once for the same sources.
# web.sh modules: prints the folder of the npm packages, in the versions of the lock file.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/cache.sh"
web=$here/../extender/readapi/src/main/web

with_node() {
  local node
  node=$("$here/node.sh")
  PATH=$(dirname "$node"):$PATH "$@"
}

install_modules() {
  cp "$web"/package{,-lock}.json "$1"
  cd "$1"
  # No script of a package is run.
  with_node npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
}

build_page() {
  # Inside the folder, so that it is removed with it if the build fails.
  local modules work=$1/.work
  modules=$(modules)
  mkdir "$work"
  cp -r "$web"/src "$web"/*.* "$work"
  ln -s "$modules/node_modules" "$work/node_modules"
  cd "$work"
  with_node node_modules/.bin/tsc -p .
  with_node node build.mjs "$1"
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
