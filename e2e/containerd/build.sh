#!/usr/bin/env bash
# build.sh: builds containerd 2 from its published Go module, once, and prints containerd=FOLDER with its two programs for a node.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"

compile() {
  local go program
  go=$("$here/../../.build/go.sh")
  cd "$here"
  export CGO_ENABLED=0 GOWORK=off
  for program in containerd containerd-shim-runc-v2; do
    "$go" build -mod=readonly -trimpath -tags "no_btrfs no_zfs no_devmapper" -ldflags "-s -w" -o "$1/$program" \
      github.com/containerd/containerd/v2/cmd/$program
  done
}

folder=$(cached containerd compile "$here"/{go.mod,go.sum})
echo "containerd=$folder"
