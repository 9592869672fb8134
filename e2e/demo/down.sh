#!/usr/bin/env bash
# Removes what ./demo started: containers, their volumes and their network. Nothing else is touched.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
label=dev.tranche.e2e.cluster=demo

if ! command -v docker >/dev/null || ! docker info >/dev/null 2>&1; then
  echo "no Docker engine answers, so nothing of the demo runs" >&2
  exit 0
fi
docker ps -aq --filter "label=$label" | xargs -r docker rm -fv >/dev/null
docker network ls -q --filter "label=$label" | xargs -r docker network rm >/dev/null
rm -rf "$root/target/demo"
echo "the demo is gone"
