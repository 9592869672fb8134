#!/usr/bin/env bash
# Prints the path of a Node.js command with npm beside it: an installed one, else both from the npm registry, with their
# checksums verified. The distribution's npm is not used, since it needs hundreds of packages.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/cache.sh"
. "$here/apt.sh"
oldest=18
pinned=24.21.0
npm=10.9.4

new_enough() {
  local version
  version=$("$1" --version 2>/dev/null) || return 1
  version=${version#v}
  [ "${version%%.*}" -ge "$oldest" ] && [ -x "$(dirname "$1")/npm" ]
}

# package FOLDER URL SHA256: an npm package.
package() {
  mkdir -p "$1"
  fetch "$2" "$3" "$1.tgz"
  tar -xzf "$1.tgz" -C "$1" --strip-components=1
  rm "$1.tgz"
}

build() {
  local platform sum registry=${npm_config_registry:-https://registry.npmjs.org}
  case $(uname -sm) in
    "Linux x86_64") platform=linux-x64 sum=61ecf27ad70afee991b671c28561eb497028294a67d132f9bbaac9ad73f81d3b ;;
    "Linux aarch64") platform=linux-arm64 sum=fba3076c16d21e5d814577436bdcb782b9b66bed09c6fa8278298e8933288bbb ;;
    *) echo "error: install Node.js $oldest or newer with npm: none is pinned for $(uname -sm)" >&2; return 1 ;;
  esac
  need_packages curl ca-certificates
  registry=${registry%/}
  package "$1/node" "$registry/node-$platform/-/node-$platform-$pinned.tgz" "$sum"
  package "$1/lib/node_modules/npm" "$registry/npm/-/npm-$npm.tgz" 4bfba8a0c823024d1926ec9d97a37a00eb60fd2adf44b3d34a686fc32e8f51e4
  mkdir "$1/bin"
  ln -s ../node/bin/node "$1/bin/node"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/bin/npm"
}

found=$(command -v node || true)
if [ -n "$found" ] && new_enough "$found"; then
  echo "$found"
  exit
fi
folder=$(cached "node-$pinned" build)
echo "$folder/bin/node"
