#!/usr/bin/env bash
# build.sh: builds Kueue from its published Go module, once, and prints kueue=FOLDER: its image as a tar, and its chart.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"
image=tranche-e2e/kueue:1

compile() {
  local go root
  go=$("$here/../../.build/go.sh")
  root=$1/root
  cd "$here"
  export CGO_ENABLED=0 GOWORK=off
  mkdir -p "$root/tmp"
  chmod 1777 "$root/tmp"
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$root/manager" sigs.k8s.io/kueue/cmd/kueue
  cp -r "$("$go" list -mod=readonly -m -f '{{.Dir}}' sigs.k8s.io/kueue)/charts/kueue" "$1/chart"
  chmod -R u+w "$1/chart"
  tar -C "$root" -cf - . | docker import --change 'ENTRYPOINT ["/manager"]' --change 'USER 65532:65532' - "$image" >/dev/null
  docker save -o "$1/image.tar" "$image"
  rm -r "$root"
}

"$here/../../.build/docker.sh"
folder=$(cached kueue compile "$here"/{go.mod,go.sum})
echo "kueue=$folder"
