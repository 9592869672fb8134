#!/usr/bin/env bash
# build.sh: builds programs of NVIDIA's container toolkit from its published Go module, once, and prints
# nvidia-toolkit=FOLDER. The folder older has the last release without the hook that limits memory.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"

compile() {
  local go cc toolkit=github.com/NVIDIA/nvidia-container-toolkit/cmd
  go=$("$here/../../.build/go.sh")
  cc=$("$here/../../.build/gcc.sh")
  "$cc" -std=c11 -O1 -shared -fPIC -Wall -Wextra -Werror -o "$1/missing.so" "$here/../nvidia-plugin/missing.c" -ldl
  export CGO_ENABLED=1 CGO_CFLAGS=-Wno-deprecated-declarations GOWORK=off CC=$cc
  mkdir "$1/older"
  cd "$here"
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/" "$toolkit/nvidia-cdi-hook" "$toolkit/nvidia-container-runtime" "$toolkit/nvidia-ctk"
  cd older
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/older/" "$toolkit/nvidia-cdi-hook"
}

folder=$(cached nvidia-toolkit compile "$here"/{go.mod,go.sum,older} "$here/../nvidia-plugin/missing.c")
echo "nvidia-toolkit=$folder"
