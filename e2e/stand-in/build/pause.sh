#!/usr/bin/env bash
# pause.sh FOLDER: FOLDER/image.tar, the image of a pod's sandbox.
set -euo pipefail
out=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
image=tranche-e2e/pause:1
cc=$("$here/../../.build/tool.sh" gcc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
"$cc" -static -Os -s -Wall -Wextra -Werror -o "$work/pause" "$here/pause/pause.c"
tar -C "$work" -cf - . | docker import --change 'ENTRYPOINT ["/pause"]' - "$image" >/dev/null
docker save -o "$out/image.tar" "$image"
