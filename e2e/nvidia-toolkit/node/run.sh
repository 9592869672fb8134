#!/bin/sh
# Stands in front of each program of NVIDIA's container toolkit on a node of a test cluster, as the scripts of NVIDIA's installer do. The
# unchanged program is beside it, with the ending .real. The hook that limits memory needs cgroup v2 at /sys/fs/cgroup. On a node with
# cgroup v1 it gets the v2 hierarchy of the folder unified there, in a mount namespace of its own.
set -eu
here=/usr/local/nvidia/toolkit
program=$here/${0##*/}.real
export PATH="$here:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" XDG_CONFIG_HOME=$here/.config
# Where the simulated NVML keeps limits, as in the node plugin's container.
export TRANCHE_FAKENVML_COMPUTE_MODES=/var/lib/tranche LD_PRELOAD=$here/missing.so

if [ -f /sys/fs/cgroup/cgroup.controllers ] || [ "${1:-}" != apply-cuda-memory-limits ]; then
  exec "$program" "$@"
fi
# shellcheck disable=SC2016
exec unshare -m --propagation private sh -c 'mount --bind /sys/fs/cgroup/unified /sys/fs/cgroup && exec "$@"' "$0" "$program" "$@"
