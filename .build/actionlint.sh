#!/usr/bin/env bash
# Prints the path of actionlint, which is built once from the Go module proxy.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
version=v1.7.12

# build FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
build() { go_install "$1" "github.com/rhysd/actionlint/cmd/actionlint@$version"; }

folder=$(cached "actionlint-$version" build)
echo "$folder/actionlint"
