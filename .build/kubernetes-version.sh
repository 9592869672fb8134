#!/usr/bin/env bash
# kubernetes-version.sh [VERSION]: prints a full Kubernetes version, such as v1.34.4. VERSION is a full version, or
# a listed minor version such as 1.34; by default $KUBERNETES_VERSION, and otherwise the default of the tests.
set -euo pipefail
versions=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/e2e/stand-in/kubernetes-versions
wanted=${1:-${KUBERNETES_VERSION:-}}
wanted=${wanted#v}
if [[ $wanted = 1.*.* ]]; then
  echo "v$wanted"
  exit
fi
awk -v wanted="$wanted" '
  /^#/ { next }
  wanted == "" ? $2 == "default" : index($1, "v" wanted ".") == 1 { print $1; found = 1 }
  END { exit !found }
' "$versions" || {
  echo "error: Kubernetes $wanted is not known; e2e/stand-in/kubernetes-versions lists: $(awk '/^v/ { print $1 }' "$versions" | paste -sd ' ')" >&2
  exit 2
}
