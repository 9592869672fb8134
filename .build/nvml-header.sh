#!/usr/bin/env bash
# Prints the path of NVIDIA's nvml.h, which it gets once from the Go module that contains it. It is not committed.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
module=github.com/NVIDIA/go-nvml@v0.13.4-1

# build FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
build() {
  local go folder
  go=$("$here/go.sh")
  # The message below replaces its output, which has the reason of a failure.
  folder=$(cd "$1" && "$go" mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') || true
  if [ ! -f "$folder/gen/nvml/nvml.h" ]; then
    echo "error: no nvml.h: no Go module proxy gave $module; run $0 once where one is reachable (GOPROXY), it is kept in $cache" >&2
    exit 1
  fi
  echo "92194e389cbebc379d5e3feff30c375fab47c761030131fe1f59af963983e5fc  $folder/gen/nvml/nvml.h" | sha256sum -c --quiet >&2
  install -m 644 "$folder/gen/nvml/nvml.h" "$1/"
}

folder=$(cached nvml-header build "$module")
echo "$folder/nvml.h"
