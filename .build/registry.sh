#!/usr/bin/env bash
# registry.sh IMAGE: succeeds when the Docker engine has the image, or could pull it now. A registry that
# does not answer is asked again only after an hour, since waiting for it costs every start.
set -euo pipefail
image=$1
cache=${TRANCHE_CACHE:-$HOME/.cache/tranche}
silent=$cache/silent-registries/$(tr -c 'a-zA-Z0-9.\n' _ <<<"$image")

if docker image inspect "$image" >/dev/null 2>&1; then exit 0; fi
if [ -n "$(find "$silent" -mmin -60 2>/dev/null)" ]; then exit 1; fi
echo "pulling $image" >&2
if timeout "${TRANCHE_PULL_SECONDS:-120}" docker pull -q "$image" >/dev/null 2>&1; then exit 0; fi
echo "$image cannot be pulled here" >&2
mkdir -p "$(dirname "$silent")"
touch "$silent"
exit 1
