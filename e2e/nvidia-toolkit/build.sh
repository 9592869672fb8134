#!/usr/bin/env bash
# build.sh: builds programs of NVIDIA's container toolkit from its published Go module, once, and prints
# nvidia-toolkit=FOLDER. The folder older has the last release without the hook that limits memory, and node is the folder
# /usr/local/nvidia/toolkit of a node of a test cluster.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"

compile() {
  local go cc program toolkit=github.com/NVIDIA/nvidia-container-toolkit/cmd
  go=$("$here/../../.build/go.sh")
  cc=$("$here/../../.build/gcc.sh")
  "$cc" -std=c11 -O1 -shared -fPIC -Wall -Wextra -Werror -o "$1/missing.so" "$here/../nvidia-plugin/missing.c" -ldl
  export CGO_ENABLED=1 CGO_CFLAGS=-Wno-deprecated-declarations GOWORK=off CC=$cc
  mkdir "$1/older"
  cd "$here"
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/" "$toolkit/nvidia-cdi-hook" "$toolkit/nvidia-container-runtime" "$toolkit/nvidia-ctk"
  cp -R "$here/node" "$1/"
  for program in nvidia-cdi-hook nvidia-container-runtime nvidia-ctk; do
    ln "$1/$program" "$1/node/$program.real"
    ln -s run.sh "$1/node/$program"
  done
  ln "$1/missing.so" "$1/node/"
  # A driver has it, and the specs of NVIDIA's toolkit name it.
  "$cc" -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$1/libcuda.so" -x c /dev/null
  cd older
  "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/older/" "$toolkit/nvidia-cdi-hook"
}

folder=$(cached nvidia-toolkit compile "$here"/{go.mod,go.sum,older,node} "$here/../nvidia-plugin/missing.c")
echo "nvidia-toolkit=$folder"
