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
build() {
  local go
  go=$("$here/go.sh")
  CGO_ENABLED=0 GOBIN=$1 "$go" install -trimpath -ldflags '-s -w' "helm.sh/helm/v3/cmd/helm@$version"
}

if command -v helm; then exit 0; fi
folder=$(cached "helm-$version" build)
echo "$folder/helm"
