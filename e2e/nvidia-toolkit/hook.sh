#!/usr/bin/env bash
# hook.sh v1|v2 BUNDLE COMMAND ARG...: runs a createRuntime hook for a process in a cgroup of its own, as a container runtime does, and exits
# with the hook's status. In its mount namespace /sys/fs/cgroup is cgroup v2, or is not. It needs root, else sudo without a password.
set -euo pipefail

if [ "${1:-}" != inside ]; then
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  exec "${as_root[@]}" unshare -m --propagation private "$0" inside "$@"
fi
version=$2 bundle=$3
shift 3

cgroups=$(mktemp -d)
mount -t cgroup2 none "$cgroups"
if [ "$version" = v2 ]; then
  mount --bind "$cgroups" /sys/fs/cgroup
else
  mount -t tmpfs none /sys/fs/cgroup
fi
cgroup=$cgroups/tranche-hook-$$
mkdir "$cgroup"
sleep infinity &
container=$!

end() {
  kill "$container"
  wait "$container" 2>/dev/null || true
  rmdir "$cgroup"
  umount "$cgroups"
  rmdir "$cgroups"
}
trap end EXIT

echo "$container" >"$cgroup/cgroup.procs"
printf '{"ociVersion": "1.0.2", "id": "c", "pid": %s, "bundle": "%s"}' "$container" "$bundle" | "$@"
