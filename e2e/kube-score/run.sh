#!/usr/bin/env bash
# run.sh: kube-score on the rendered chart. It prints how often each check fails, and how many pass. docs/architecture/outside-checks.md says why the checks fail that do.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
score=$("$here/../../.build/tool.sh" kube-score)
helm=$("$here/../../.build/tool.sh" helm)
rendered=$(mktemp)
trap 'rm -f "$rendered" "$rendered.scores"' EXIT
"$helm" template tranche "$here/../../charts/tranche" -n tranche --kube-version 1.37.2 --set networkPolicies.enabled=true >"$rendered"
# It fails if a check does.
"$score" score "$rendered" --output-format ci >"$rendered.scores" || true
echo "kube-score: $(grep -c '^\[OK\]' "$rendered.scores") ok, $(grep -c '^\[SKIPPED\]' "$rendered.scores") skipped"
grep -E '^\[(CRITICAL|WARNING)\]' "$rendered.scores" | sed -E 's/^\[([A-Z]+)\] [^:]*: (\([^)]*\) )?/\1 /' | sort | uniq -c
