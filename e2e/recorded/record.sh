#!/usr/bin/env bash
# record.sh VERSION...: what stock kube-schedulers of these releases (v1.32.5 …) send to an extender, as fixtures of the
# extender's tests: extender/src/test/resources/extender-v1/VERSION. Their API server is the stand-in's.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/prepare.sh
. "$here/../../.build/prepare.sh"
[ $# -gt 0 ] || { echo "usage: e2e/recorded/record.sh VERSION...; a release of Kubernetes, as v1.32.5" >&2; exit 2; }

prepare_jdk
prepare_jars
kubectl=$("$root/e2e/stand-in/build.sh" kubectl)
for version in "$@"; do
  export KUBERNETES_VERSION=$version
  folder=$(cached "kube-scheduler-$version" "$here/kube-scheduler.sh" "$root/e2e/stand-in/build/go-module.sh" \
    "$root/e2e/stand-in/build/other-patches" "$root/e2e/stand-in/scheduler")
  step "recording kube-scheduler $version"
  (run_java dev.tranche.e2e.record.RecordRequests "$(dirname "${kubectl#kubectl=}")" "$folder/kube-scheduler" \
    "$root/extender/src/test/resources/extender-v1/$version")
done
