#!/usr/bin/env bash
# Prints the path of cosign, which signs images. It is built once from the Go module proxy.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
version=v3.1.3

# It needs a newer Go than the one that builds the rest, so Go may fetch that one, whatever the distribution allows.
# build FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
build() { GOTOOLCHAIN=auto go_install "$1" "github.com/sigstore/cosign/v3/cmd/cosign@$version"; }

folder=$(cached "cosign-$version" build)
echo "$folder/cosign"
