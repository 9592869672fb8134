#!/usr/bin/env bash
# layers.sh FOLDER: writes the image that build.sh has built as tar files, a layer each, in their order. All but the last are equal, byte
# by byte, for the same sources: the last one has the AOT caches, which a JVM records as it runs.
set -euo pipefail
folder=${1:?usage: layers.sh FOLDER}
image=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/target/image/root
mkdir -p "$folder"

# layer NAME PATH...: the mode of a file must not depend on the umask of a build. /tmp keeps its own.
layer() {
  tar -C "$image" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@1767225600 --format=gnu "${@:3}" -cf "$folder/$1.tar" "$2"
}

find "$image" ! -type l ! -path "$image/tmp" -exec chmod u+rw,go+r,go-w {} +
find "$image" -type d -exec chmod a+x {} +
layer 1-base . --exclude=./opt/tranche
layer 2-runtime ./opt/tranche/runtime
layer 3-tranche ./opt/tranche --exclude=./opt/tranche/runtime --exclude=./opt/tranche/aot
layer aot ./opt/tranche/aot
