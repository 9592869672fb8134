#!/usr/bin/env bash
# parser.sh: builds the parser of NVIDIA's config files from its published Go module, once, and prints the program's path.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"

compile() {
  local go
  go=$("$here/../../.build/go.sh")
  cd "$here/parser"
  CGO_ENABLED=0 GOWORK=off "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/parser" .
}

echo "$(cached nvidia-parser compile "$here/parser")/parser"
