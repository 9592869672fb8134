#!/usr/bin/env bash
# run.sh [COMMIT]: runs every mix of parts of an older version and of this one, on a cluster: SkewE2E. It builds the older image from
# COMMIT, by default that of e2e/last-release.
set -euo pipefail
shopt -s inherit_errexit
this=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=${1:-$(cat "$this/e2e/last-release/commit")}
older=$(mktemp -d)
trap 'rm -rf "$older"' EXIT
git clone -q "$this" "$older/tranche"
git -C "$older/tranche" checkout -q "$commit"
(
  cd "$older/tranche"
  # shellcheck source=SCRIPTDIR/../../.build/prepare.sh
  . .build/prepare.sh
  prepare_jdk
  prepare_cluster
)
"$this/check" SkewE2E -Dclusters=1 -Dtranche.older="$older/tranche"
