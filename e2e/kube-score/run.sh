#!/usr/bin/env bash
# run.sh: kube-score on the rendered chart. It prints how often each check fails, and how many pass. It builds kube-score once from the Go
# module proxy. docs/architecture/outside-checks.md says why the checks fail that do.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"
version=v1.20.0

# build FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
build() { go_install "$1" "github.com/zegl/kube-score/cmd/kube-score@$version"; }

folder=$(cached "kube-score-$version" build)
helm=$("$here/../../.build/helm.sh")
rendered=$(mktemp)
trap 'rm -f "$rendered" "$rendered.scores"' EXIT
"$helm" template tranche "$here/../../charts/tranche" -n tranche --kube-version 1.37.2 --set networkPolicies.enabled=true >"$rendered"
# It fails if a check does.
"$folder/kube-score" score "$rendered" --output-format ci >"$rendered.scores" || true
echo "kube-score $version: $(grep -c '^\[OK\]' "$rendered.scores") ok, $(grep -c '^\[SKIPPED\]' "$rendered.scores") skipped"
grep -E '^\[(CRITICAL|WARNING)\]' "$rendered.scores" | sed -E 's/^\[([A-Z]+)\] [^:]*: (\([^)]*\) )?/\1 /' | sort | uniq -c
