#!/usr/bin/env bash
# Prints the path of a Go command that can build all Go parts of e2e: an installed one, else the toolchain from the Go
# module proxy, with its checksum verified.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/cache.sh"
. "$here/apt.sh"
# The newest version that any go.mod needs, since distributions do not let an older Go fetch a newer one.
oldest=1.25
pinned=go1.25.7
sum=43a6a44615934ab4533b010735fc39757accc93f421ffafa67a34f73c5703e7b

new_enough() {
  local version
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  printf '%s\n' "$oldest" "${version#go}" | sort -C -V
}

for go in "$(command -v go || true)" /usr/local/go/bin/go; do
  if new_enough "$go"; then
    echo "$go"
    exit
  fi
done

download() {
  local proxy=https://proxy.golang.org module=golang.org/toolchain@v0.0.1-$pinned.linux-amd64
  [ "$(uname -m)" = x86_64 ] || { echo "error: install Go $oldest or newer: none is pinned for $(uname -m)" >&2; return 1; }
  need_packages unzip curl ca-certificates
  # The first one of a list that may also have words, such as direct.
  [[ ! ${GOPROXY:-} =~ https?://[^,|]* ]] || proxy=${BASH_REMATCH[0]%/}
  fetch "$proxy/${module/@//@v/}.zip" $sum "$1/go.zip"
  unzip -q "$1/go.zip" -d "$1"
  # A module zip carries no execute bits.
  chmod -R +x "$1/$module/bin" "$1/$module/pkg/tool"
  mv "$1/$module"/* "$1/"
  rm -r "$1/go.zip" "$1/golang.org"
}

folder=$(cached "$pinned" download)
echo "$folder/bin/go"
