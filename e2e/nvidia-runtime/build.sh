#!/usr/bin/env bash
# build.sh: builds the runtime once, as a static program that runs on any node image, and prints
# runtime=FOLDER, the folder to mount at /usr/local/nvidia/toolkit.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"

compile() {
  local cc
  cc=$("$here/../../.build/gcc.sh")
  "$cc" -std=gnu11 -static -O1 -s -Wall -Wextra -Werror -o "$1/nvidia-container-runtime" \
    "$here/runtime.c" "$here/gpus.c" "$here/json.c"
}

folder=$(cached nvidia-runtime compile "$here")
echo "runtime=$folder"
