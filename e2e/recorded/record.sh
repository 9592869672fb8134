#!/usr/bin/env bash
# record.sh requests VERSION...: what stock kube-schedulers of these releases (v1.32.5 …) send to an extender, as fixtures of the
# extender's tests: extender/src/test/resources/extender-v1/VERSION.
# record.sh kube-scheduler|kubelet VERSION [TITLE...]: what a stock kube-scheduler or kubelet of this release does in each script, as a fixture
# of the simulator's tests: e2e/simulate/src/test/resources/recorded. With titles it prints these scripts alone.
set -euo pipefail
shopt -s inherit_errexit
. "$(dirname "${BASH_SOURCE[0]}")/../../.build/prepare.sh"
[[ ${1:-} =~ ^(requests|kube-scheduler|kubelet)$ && $# -gt 1 ]] || {
  sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
prepare_jars
what=$1
shift

# programs VERSION: the folder of this release's programs, whose API server is the stand-in's.
programs() {
  local kubectl
  kubectl=$(KUBERNETES_VERSION=$1 "$root/e2e/stand-in/build.sh" kubectl)
  dirname "${kubectl#kubectl=}"
}

out=$root/e2e/simulate/src/test/resources/recorded/$what-$1.txt
[ $# = 1 ] || out=/dev/stdout
step "recording $what of Kubernetes $*"
case $what in
  requests)
    for version in "$@"; do
      folder=$(programs "$version")
      (run_java dev.tranche.e2e.record.RecordRequests "$folder" "$folder/scheduler" "$root/extender/src/test/resources/extender-v1/$version")
    done
    ;;
  kube-scheduler)
    folder=$(programs "$1")
    run_java dev.tranche.e2e.bench.record.RecordScheduling "$folder" "$folder/scheduler" "$out" "${@:2}"
    ;;
  kubelet)
    "$root/.build/docker.sh"
    # The path of a socket has at most 107 characters.
    sockets=$(mktemp -d)
    trap 'rm -rf "$sockets"' EXIT
    export KUBERNETES_VERSION=$1
    (TRANCHE_E2E_FORCE_STANDIN=1 run_java dev.tranche.e2e.bench.record.RecordKubelet "$sockets" "$out" "${@:2}")
    ;;
esac
