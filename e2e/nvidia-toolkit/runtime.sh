#!/usr/bin/env bash
# runtime.sh IMAGE TOOLKIT DRIVER VARIABLE...: on a node of the stand-in starts a container with these variables by NVIDIA's container runtime and
# runc, without Kubernetes. Prints the container's cgroup in the v2 hierarchy, and its limits as the simulated NVML keeps them: soft and hard.
set -euo pipefail

if [ "${1:-}" != inside ]; then
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  exec docker run --rm --cap-add ALL --cap-drop SYS_RESOURCE --cgroupns private --tmpfs /run \
    --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
    -v "$here/runtime.sh:/runtime.sh:ro" -v "$2:/usr/local/nvidia/toolkit:ro" -v "$3:/opt/tranche-e2e/driver:ro" \
    --entrypoint bash "$1" /runtime.sh inside "${@:4}"
fi

# shellcheck source=SCRIPTDIR/../stand-in/node/lib/machine.sh
. /usr/local/lib/stand-in/machine.sh
prepare_machine >&2
limits=/var/lib/tranche cgroups=/sys/fs/cgroup
mkdir -p "$limits"
if [ ! -f $cgroups/cgroup.controllers ]; then
  cgroups=$cgroups/unified
  mkdir -p $cgroups
  mount -t cgroup2 none $cgroups
fi

bundle=$(mktemp -d)
cd "$bundle"
mkdir -p rootfs/{bin,lib,lib64,usr,etc}
for folder in bin lib lib64 usr; do mount --bind "/$folder" "rootfs/$folder"; done
variables=$(printf '"%s",' "${@:2}")
runc spec
sed -i "s|\"terminal\": true|\"terminal\": false|; s|\"sh\"|\"/bin/sleep\", \"60\"|; s|\"TERM=xterm\"|${variables%,}|
  s|\"linux\": {|\"linux\": {\"cgroupsPath\": \"/kubepods/pod1/c1\",|; s|\"readonly\": true|\"readonly\": false|" config.json
/usr/local/nvidia/toolkit/nvidia-container-runtime --log "$bundle/log" create c1 </dev/null >"$bundle/out" 2>&1 || {
  tail -n 3 "$bundle/out" >&2
  exit 1
}
pid=$(runc state c1 | sed -n 's/.*"pid": \([0-9]*\).*/\1/p')
cgroup=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
echo "cgroup=$cgroup"
limit=$(cat "$limits"/gpus.state.limit.*."$(stat -c %d.%i "$cgroups$cgroup")" 2>/dev/null || true)
echo "limits=$limit"
runc delete -f c1
