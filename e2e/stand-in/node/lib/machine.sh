# shellcheck shell=bash
# Makes a container look like a machine to the kubelet, with full privileges or with less.

# Some engines may not grant this capability; then the container is not privileged but has all
# others, and containerd must not lower what it cannot lower.
has_sys_resource() {
  local bits
  bits=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
  (((16#$bits >> 24) & 1))
}

prepare_machine() {
  unmask
  mount --make-rshared /
  [ -e /dev/kmsg ] || mknod /dev/kmsg c 1 11
  prepare_cgroups
  echo 1 >/proc/sys/net/ipv4/ip_forward
}

# An engine hides parts of /proc and /sys from a container that is not privileged.
unmask() {
  mount -o remount,rw /sys || true
  local target
  while read -r _ target _; do
    case $target in
      /sys/fs/cgroup*) mount -o remount,bind,rw "$target" || true ;;
      /proc/?* | /sys/?*) umount "$target" || true ;;
    esac
  done < <(tac /proc/mounts)
}

# On cgroup v2 a group with processes in it can hand no controllers to its children: a container's
# own processes move into a leaf. A machine's root group, which has no type, may keep its processes.
prepare_cgroups() {
  local root=/sys/fs/cgroup pid controller
  [ -f "$root/cgroup.controllers" ] || return 0
  if [ -f "$root/cgroup.type" ]; then
    mkdir -p "$root/init"
    while read -r pid; do
      echo "$pid" >"$root/init/cgroup.procs" 2>/dev/null || true
    done <"$root/cgroup.procs"
  fi
  for controller in $(<"$root/cgroup.controllers"); do
    echo "+$controller" >"$root/cgroup.subtree_control" || true
  done
}
