#!/usr/bin/env bash
# build.sh: builds the example driver of Kubernetes' DRA from its published Go module, once, and prints dra-driver=FOLDER: its image as
# a tar, and its chart.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"
image=tranche-e2e/dra-driver:1
module=sigs.k8s.io/dra-example-driver

compile() {
  local go root
  go=$("$here/../../.build/go.sh")
  root=$1/root
  cd "$here"
  export CGO_ENABLED=0 GOWORK=off
  mkdir -p "$root/bin" "$root/tmp"
  chmod 1777 "$root/tmp"
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$root/bin/dra-example-kubeletplugin" $module/cmd/dra-example-kubeletplugin
  cp -r "$("$go" list -mod=readonly -m -f '{{.Dir}}' $module)/deployments/helm/dra-example-driver" "$1/chart"
  chmod -R u+w "$1/chart"
  tar -C "$root" -cf - . | docker import --change 'ENV PATH=/bin' - "$image" >/dev/null
  docker save -o "$1/image.tar" "$image"
  rm -r "$root"
}

"$here/../../.build/docker.sh"
folder=$(cached dra-driver compile "$here"/{go.mod,go.sum})
echo "dra-driver=$folder"
