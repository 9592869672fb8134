#!/bin/sh
# demo [up [--simulated] | verify [--simulated] | kubectl ARG... | probe | down]: Kubernetes and Tranche on the GPUs of this machine, in namespaces of
# their own, so that nothing is left of them. Needs root and NVIDIA's driver, no Docker and no network. --simulated needs no GPU: NVML is simulated.
# verify checks instead of showing, writes verify-gpu.json beside this file, and ends what it has started.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
busybox=$here/busybox
files=$here/files
root=$files/root
state=$here/state
group=tranche-demo
kubeconfig=/etc/rancher/k3s/k3s.yaml

fail() {
  echo "error: $*" >&2
  exit 1
}

# What the machine lacks, one line each. Without a word about all that is there.
probe() {
  [ "$("$busybox" id -u)" = 0 ] || echo "root: run this as root"
  [ "$("$busybox" uname -m)" = x86_64 ] || echo "x86-64: the programs are for no other processor"
  "$busybox" grep -qv gVisor /proc/version || echo "a kernel of its own: a gVisor sandbox runs no containers"
  "$busybox" unshare --mount --net --uts --ipc "$busybox" true 2>/dev/null || echo "namespaces: mount, net, uts and ipc cannot be made"
  "$busybox" unshare --net "$busybox" chroot "$root" /bin/bash -c "/sbin/ip link add a0 type veth peer name b0 && /sbin/iptables -t nat -S" \
    >/dev/null 2>&1 || echo "veth and netfilter: the kernel has no virtual network devices, or no NAT"
  "$busybox" grep -qw overlay /proc/filesystems || modprobe -q overlay 2>/dev/null || echo "overlayfs: containers are copied instead, which takes disk space"
  [ -f /sys/fs/cgroup/cgroup.controllers ] || echo "cgroup v2: Tranche runs without it, memory limits do not"
  [ -n "$simulated" ] || {
    [ -e /dev/nvidiactl ] || echo "NVIDIA's driver: there is no /dev/nvidiactl; --simulated needs none"
    command -v nvidia-smi >/dev/null || echo "nvidia-smi: GPUs cannot be compared with it"
  }
}

unpack() {
  [ ! -f "$files/unpacked" ] || return 0
  echo "unpacking"
  rm -rf "$files"
  mkdir -p "$files"
  cat "$here"/archive.* | "$busybox" xz -dc | "$busybox" tar -x -C "$files"
  # kube-scheduler is one of Kubernetes' programs, and the JVM of Tranche's image also runs the demo.
  mkdir -p "$files/scheduler/usr/local/bin"
  cp "$root/usr/local/bin/kube" "$files/scheduler/usr/local/bin/kube-scheduler"
  PATH=$PATH:$files "$busybox" sh "$files/image.sh" "$("$busybox" sed -n 's/.*image: "*\(registry.k8s.io\/kube-scheduler[^" ]*\).*/\1/p' "$root/usr/local/share/stand-in/tranche.yaml" | "$busybox" head -n 1)" \
    "$files/scheduler" "$files/images/scheduler.tar"
  rm -r "$files/scheduler"
  "$busybox" tar -xOf "$files/images/tranche.tar" "$("$busybox" tar -tf "$files/images/tranche.tar" | "$busybox" grep layer.tar)" |
    "$busybox" tar -x -C "$root" opt
  : >"$files/unpacked"
}

# The folders of one cgroup, in every hierarchy of the machine. The node and all its pods are in it, so that they can be ended together.
cgroups() {
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    echo "/sys/fs/cgroup/$group"
  else
    for hierarchy in /sys/fs/cgroup/*/; do
      [ ! -f "$hierarchy/cgroup.procs" ] || echo "$hierarchy$group"
    done
  fi
}

start() {
  ! running || fail "it runs already; $0 down ends it"
  unpack
  missing=$(probe)
  [ -z "$missing" ] || echo "missing here:
$missing" >&2
  mkdir -p "$state"
  for folder in $(cgroups); do
    mkdir -p "$folder"
    # A new group of cpusets has neither CPUs nor memory nodes.
    for file in cpuset.cpus cpuset.mems; do
      [ ! -f "$folder/$file" ] || cat "${folder%/*}/$file" >"$folder/$file"
    done
  done
  echo "starting Kubernetes"
  (
    for folder in $(cgroups); do echo 0 >"$folder/cgroup.procs"; done
    exec "$busybox" setsid "$busybox" unshare --mount --net --uts --ipc "$busybox" sh "$files/node.sh" "$files" $simulated \
      >"$state/log" 2>&1 </dev/null
  ) &
  echo $! >"$state/pid"
  until "$busybox" grep -q "sync successful" "$state/log" 2>/dev/null; do
    running || fail "the node ended: $(cat "$state/log")"
    sleep 1
  done
  echo "installing Tranche"
  inside kubectl create namespace tranche >/dev/null
  inside kubectl apply --server-side -f /usr/local/share/stand-in/tranche.yaml >/dev/null
}

# run_java PROGRAM ARG...: one of the demo's own.
run_java() {
  program=$1
  shift
  # shellcheck disable=SC2086 # nothing, or one word
  inside /opt/tranche/runtime/bin/java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dstdout.encoding=UTF-8 \
    -cp "/usr/local/share/stand-in/demo.jar:/opt/tranche/lib/*" "dev.tranche.e2e.machine.$program" $kubeconfig "$@" $simulated
}

verify() {
  start
  status=0
  run_java ClusterChecks /verify-gpu.json || status=$?
  [ ! -f "$root/verify-gpu.json" ] || mv "$root/verify-gpu.json" "$here/"
  down
  exit $status
}

running() {
  [ -s "$state/pid" ] && kill -0 "$(cat "$state/pid")" 2>/dev/null
}

# inside PROGRAM ARG...: in the node's namespaces, with its files.
inside() {
  "$busybox" nsenter -t "$(cat "$state/pid")" -m -n -u -i /usr/bin/env KUBECONFIG=$kubeconfig \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

processes() {
  for folder in $(cgroups); do
    [ ! -d "$folder" ] || "$busybox" find "$folder" -name cgroup.procs -exec cat {} + 2>/dev/null
  done | "$busybox" sort -u
}

down() {
  deadline=$(($("$busybox" date +%s) + 60))
  left=$(processes)
  while [ -n "$left" ]; do
    [ "$("$busybox" date +%s)" -lt $deadline ] || fail "these processes do not end: $left"
    # Stopped first, since those that are left would start the others again.
    # shellcheck disable=SC2086 # one word for each process
    kill -STOP $left 2>/dev/null || true
    # shellcheck disable=SC2086
    kill -9 $left 2>/dev/null || true
    sleep 0.2
    left=$(processes)
  done
  for folder in $(cgroups); do
    # A process that has ended may still hold its group for a moment.
    for _ in 1 2 3 4 5; do
      [ ! -d "$folder" ] || "$busybox" find "$folder" -depth -type d -exec "$busybox" rmdir {} + 2>/dev/null || sleep 0.2
    done
  done
  rm -rf "$state" "$root/var/lib/rancher" "$root/var/lib/kubelet" "$root/var/log/stand-in" "$root/var/lib/cni" "$root/etc/rancher"
}

command=${1:-up}
[ $# -eq 0 ] || shift
simulated=
[ "${1:-}" != --simulated ] || simulated=--simulated
case $command in
  up)
    start
    run_java GpuDemo
    ;;
  verify) verify ;;
  probe)
    unpack
    probe
    ;;
  kubectl)
    running || fail "it does not run; $0 starts it"
    inside kubectl "$@"
    ;;
  down) down ;;
  *) fail "\"$command\" is no command; there are up, verify, probe, kubectl and down" ;;
esac
