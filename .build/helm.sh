#!/usr/bin/env bash
# Prints the path of a Helm 3 command: the one on the path, else one that is built once from the Go module proxy.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
version=v3.20.2

# build FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
build() { go_install "$1" "helm.sh/helm/v3/cmd/helm@$version"; }

if command -v helm; then exit 0; fi
folder=$(cached "helm-$version" build)
echo "$folder/helm"
