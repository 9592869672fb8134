#!/usr/bin/env bash
# scheduling.sh VERSION [TITLE...]: what a stock kube-scheduler of this release (v1.37.2 …) does in each scheduling script, as a
# fixture of the simulator's tests: e2e/simulate/src/test/resources/recorded. With titles it prints these scripts alone.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/prepare.sh
. "$here/../../.build/prepare.sh"
[ $# -gt 0 ] || { echo "usage: e2e/recorded/scheduling.sh VERSION [TITLE...]; a release of Kubernetes, as v1.37.2" >&2; exit 2; }
version=$1
shift

prepare_jdk
prepare_jars
kubectl=$(KUBERNETES_VERSION=$version "$root/e2e/stand-in/build.sh" kubectl)
programs=$(dirname "${kubectl#kubectl=}")
out=$root/e2e/simulate/src/test/resources/recorded/kube-scheduler-$version.txt
[ $# -eq 0 ] || out=/dev/stdout
step "recording kube-scheduler $version"
run_java dev.tranche.e2e.bench.record.RecordScheduling "$programs" "$programs/scheduler" "$out" "$@"
