# shellcheck shell=bash
# Sourced. Caches build results by the hash of their inputs.

cache=${TRANCHE_CACHE:-$HOME/.cache/tranche}

# hash_of WORD_OR_PATH...: files and folders count by content, other words as they are.
hash_of() {
  local input
  for input in "$@"; do
    if [ -e "$input" ]; then
      (cd "$(dirname "$input")" && find "$(basename "$input")" -type f -print0 | sort -z | xargs -0 sha256sum)
    else
      echo "$input"
    fi
  done | sha256sum | cut -c1-12
}

# cached NAME BUILDER INPUT...: prints the folder that `BUILDER FOLDER` filled for these inputs. It calls the
# builder only if no such folder exists, one at a time. A failed builder leaves nothing, as long as the caller has
# `set -e` and `inherit_errexit` and does not test the status, since that would disable `set -e` in here.
cached() {
  local name=$1 builder=$2 folder work
  folder=$cache/$name-$(hash_of "${@:2}")
  if [ ! -d "$folder" ]; then
    mkdir -p "$cache"
    (
      flock 8
      [ ! -d "$folder" ] || exit 0
      echo "building $name (kept in $folder)" >&2
      work=$(mktemp -d "$cache/.$name.XXXXXX")
      trap 'rm -rf "$work"' EXIT
      "$builder" "$work" >&2
      chmod 755 "$work"
      mv "$work" "$folder"
    ) 8>"$cache/.$name.lock"
  fi
  echo "$folder"
}

# go_install FOLDER PACKAGE@VERSION: builds a program from the Go module proxy.
go_install() {
  local go
  go=$("$(dirname "${BASH_SOURCE[0]}")/go.sh")
  CGO_ENABLED=0 GOBIN=$1 "$go" install -trimpath -ldflags '-s -w' "$2"
}

# go_module MODULE@VERSION: prints the folder of a module, whose checksum Go verifies.
go_module() {
  local go
  go=$("$(dirname "${BASH_SOURCE[0]}")/go.sh")
  "$go" mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p' | grep . || {
    echo "error: no Go module proxy gave $1; run this once where one is reachable (GOPROXY)" >&2
    return 1
  }
}

# docker_image FOLDER IMAGE CHANGE...: makes an image of FOLDER/root alone, and FOLDER/image.tar of it.
docker_image() {
  local changes=() change
  for change in "${@:3}"; do changes+=(--change "$change"); done
  mkdir -p "$1/root/tmp"
  chmod 1777 "$1/root/tmp"
  tar -C "$1/root" -cf - . | docker import "${changes[@]}" - "$2" >/dev/null
  docker save -o "$1/image.tar" "$2"
  rm -r "$1/root"
}

# fetch URL SHA256 FILE: downloads a file that is pinned by its checksum.
fetch() {
  echo "downloading $1" >&2
  if curl -fsSL --retry 3 -o "$3" "$1" && echo "$2  $3" | sha256sum -c --quiet >&2; then return; fi
  rm -f "$3"
  echo "error: $1 did not arrive with its checksum" >&2
  return 1
}
