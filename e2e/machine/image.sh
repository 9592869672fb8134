#!/bin/sh
# image.sh NAME FOLDER FILE: writes an image of one layer, the folder's files, as `docker save` does. It needs no engine.
set -eu
name=$1
folder=$2
file=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$folder" -cf "$work/layer.tar" .
layer=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
cat >"$work/config.json" <<JSON
{"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/usr/local/bin", "LD_LIBRARY_PATH=/usr/lib64"]}, "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
JSON
cat >"$work/manifest.json" <<JSON
[{"Config": "config.json", "RepoTags": ["$name"], "Layers": ["layer.tar"]}]
JSON
tar -C "$work" -cf "$file" manifest.json config.json layer.tar
