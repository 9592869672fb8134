#!/usr/bin/env bash
# build.sh: builds NVIDIA's device plugin and GPU Feature Discovery from their published Go module, once, and prints
# nvidia-plugin=FOLDER.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"

compile() {
  local go cc
  go=$("$here/../../.build/go.sh")
  cc=$("$here/../../.build/gcc.sh")
  "$cc" -std=c11 -O1 -shared -fPIC -Wall -Wextra -Werror -o "$1/missing.so" "$here/missing.c" -ldl
  cd "$here"
  export CGO_ENABLED=1 GOWORK=off CC=$cc
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/nvidia-device-plugin" github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/gpu-feature-discovery" github.com/NVIDIA/k8s-device-plugin/cmd/gpu-feature-discovery
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/record" ./record
}

folder=$(cached nvidia-plugin compile "$here"/{go.mod,go.sum,missing.c,record})
echo "nvidia-plugin=$folder"
