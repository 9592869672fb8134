#!/usr/bin/env bash
# kubelet.sh VERSION [TITLE...]: what a stock kubelet of this release (v1.37.2 …) does in each script for kubelets, as a fixture of
# the simulator's tests: e2e/simulate/src/test/resources/recorded. With titles it prints these scripts alone.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/prepare.sh
. "$here/../../.build/prepare.sh"
[ $# -gt 0 ] || { echo "usage: e2e/recorded/kubelet.sh VERSION [TITLE...]; a release of Kubernetes, as v1.37.2" >&2; exit 2; }
export KUBERNETES_VERSION=$1
shift

prepare_jdk
prepare_jars
"$root/.build/docker.sh"
out=$root/e2e/simulate/src/test/resources/recorded/kubelet-$KUBERNETES_VERSION.txt
[ $# -eq 0 ] || out=/dev/stdout
# The path of a socket has at most 107 characters.
sockets=$(mktemp -d)
trap 'rm -rf "$sockets"' EXIT
step "recording the kubelet $KUBERNETES_VERSION"
(TRANCHE_E2E_FORCE_STANDIN=1 run_java dev.tranche.e2e.bench.record.RecordKubelet "$sockets" "$out" "$@")
