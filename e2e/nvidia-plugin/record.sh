#!/usr/bin/env bash
# record.sh: asks NVIDIA's device plugin, on two simulated GPUs in mount namespaces of their own, and writes what it answers where
# AllocateAnswerTest reads it. As root; only when the version in go.mod changes.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
recorded=$root/node-plugin/src/test/resources/nvidia-allocate.json

if [ "${1:-}" != inside ]; then
  built=$("$here/../build.sh" nvidia-plugin)
  mkdir -p "$(dirname "$recorded")"
  exec unshare -m "$0" inside "${built#*=}"
fi

work=$(mktemp -d)
library=$work/driver/usr/lib64
make -s -C "$root/e2e/fakenvml" OUT="$library"
# The CDI specs want a driver's version in a file name.
ln -s libnvidia-ml.so.1 "$library/libnvidia-ml.so.580.82.07"
touch "$library/libcuda.so.580.82.07"
cat >"$library/gpus.state" <<'STATE'
driver version=580.82.07
gpu index=0 uuid=GPU-0 model="Tesla T4" memory_mib=15360 minor=4
gpu index=1 uuid=GPU-1 model="Tesla T4" memory_mib=15360 minor=5 pci=00000000:3B:00.0
STATE
cat >"$work/config.yaml" <<'CONFIG'
version: v1
sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}
CONFIG

mkdir -p /var/lib/kubelet/device-plugins /var/run/cdi "$work/dev"
mount -t tmpfs none /var/lib/kubelet/device-plugins
mount -t tmpfs none /var/run/cdi
mount -t tmpfs none "$work/dev"
cp -a /dev/null /dev/zero /dev/urandom "$work/dev/"
for node in nvidia4:4 nvidia5:5 nvidiactl:255; do mknod -m 666 "$work/dev/${node%:*}" c 195 "${node#*:}"; done
mknod -m 666 "$work/dev/nvidia-uvm" c 510 0
mount --bind "$work/dev" /dev

LD_PRELOAD=$2/missing.so LD_LIBRARY_PATH=$library DP_DISABLE_HEALTHCHECKS=all \
  "$2/record" "$2/nvidia-device-plugin" --config-file="$work/config.yaml" --kubelet-socket= --container-driver-root="$work/driver" >"$work/answers"
mv "$work/answers" "$recorded"
