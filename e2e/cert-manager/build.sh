#!/usr/bin/env bash
# build.sh: builds cert-manager's controllers from its published Go module, once, and prints cert-manager=FOLDER: they and its CRDs.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"

compile() {
  local go
  go=$("$here/../../.build/go.sh")
  cd "$here"
  export CGO_ENABLED=0 GOWORK=off
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/cert-manager" .
  mkdir "$1/crds"
  install -m 644 "$("$go" list -mod=readonly -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)"/deploy/crds/cert-manager.io_*.yaml "$1/crds/"
}

folder=$(cached cert-manager compile "$here"/{main.go,go.mod,go.sum})
echo "cert-manager=$folder"
