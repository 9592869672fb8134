#!/usr/bin/env bash
# Prints the path of crane, which copies images to and from registries. It is built once from the Go module proxy.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
version=v0.22.1

# build FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
build() { go_install "$1" "github.com/google/go-containerregistry/cmd/crane@$version"; }

folder=$(cached "crane-$version" build)
echo "$folder/crane"
