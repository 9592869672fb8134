#!/bin/sh
# demo [up | verify | probe | kubectl ARG... | down] [--simulated[=DRIVER]] [--mps]: Kubernetes and Tranche on the GPUs of this machine, in namespaces
# of their own, so that nothing is left of them. Needs root and NVIDIA's driver, no Docker, no network, and no other program.
# --simulated needs no GPU: NVML is simulated, as that of a driver of R615, or of the given one. --mps also shares the GPU by MPS.
# verify checks instead of showing, writes verify-gpu.json and verify-gpu.log beside this file, and ends what it has started.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
busybox=$here/busybox
# Its shell takes its own commands, whatever the machine has. Without a shell on the machine: FOLDER/busybox sh FOLDER/demo.
[ -n "${TRANCHE_DEMO:-}" ] || TRANCHE_DEMO=1 exec "$busybox" sh "$here/demo" "$@"
files=$here/files
root=$files/root
state=$here/state
group=tranche-demo-$(stat -c %i "$here") # Of this folder alone, under each of its paths.
kubeconfig=/etc/rancher/k3s/k3s.yaml
share=/usr/local/share/stand-in
# Where cgroup v2 is: the machine's own, or beside the hierarchies of v1, where only the simulated driver takes it. Empty: nowhere.
cgroup2=
for folder in /sys/fs/cgroup/unified /sys/fs/cgroup; do [ ! -f "$folder/cgroup.controllers" ] || cgroup2=$folder; done
subtree=/sys/fs/cgroup/cgroup.subtree_control
# The machine's own, if it has one, runs in the place of the packed one.
hook=$(command -v nvidia-cdi-hook || true)

fail() {
  echo "error: $*" >&2
  exit 1
}

# What the machine lacks, one line each. What is missing is needed; without the rest there is less to see.
probe() {
  [ "$(uname -m)" = x86_64 ] || echo "missing: x86-64; the programs are for no other processor"
  ! grep -q gVisor /proc/version || echo "missing: a kernel of its own; a gVisor sandbox runs no containers"
  unshare --mount --net --uts --ipc "$busybox" true 2>/dev/null || echo "missing: namespaces; mount, net, uts and ipc cannot be made here"
  unshare --net chroot "$root" /bin/bash -c "/sbin/ip link add a0 type veth peer name b0 && /sbin/iptables -t nat -S" >/dev/null 2>&1 ||
    echo "missing: veth and netfilter; the kernel has no virtual network devices, or no NAT"
  grep -qw overlay /proc/filesystems || /sbin/modprobe -q overlay 2>/dev/null ||
    echo "without overlayfs: files of containers are copied, which takes disk space"
  [ -n "$simulated" ] || {
    [ -e /dev/nvidiactl ] || echo "missing: NVIDIA's driver; there is no /dev/nvidiactl, and --simulated needs none"
    [ -e /dev/nvidia-uvm ] || echo "missing: /dev/nvidia-uvm, which CUDA needs; load the kernel module nvidia-uvm"
    command -v nvidia-smi >/dev/null || echo "without nvidia-smi: GPUs cannot be compared with it"
    [ -z "$mps" ] || command -v nvidia-cuda-mps-control >/dev/null || echo "without MPS: there is no nvidia-cuda-mps-control on the PATH"
  }
  no_limits
}

# Says why the driver limits no memory, if it does not.
no_limits() {
  driver=${simulated:-$(grep -o '[0-9]*\.[0-9.]*' /proc/driver/nvidia/version 2>/dev/null | head -n 1)}
  if [ -n "$driver" ] && [ "${driver%%.*}" -lt 615 ]; then
    echo "without memory limits: driver $driver is older than R615"
  elif [ -n "$hook" ] && ! "$hook" --help 2>&1 | grep -q apply-cuda-memory-limits; then
    echo "without memory limits: $hook is older than 1.20.1"
  elif [ -n "$simulated" ]; then
    [ -n "$cgroup2" ] || echo "without memory limits: the machine has no cgroup v2"
  elif ! grep -qwE 'dmem|misc' /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
    echo "without memory limits: the kernel has no controller dmem or misc of cgroup v2"
  fi
}

unpack() {
  [ ! -f "$files/unpacked" ] || return 0
  echo "unpacking"
  rm -rf "$files"
  mkdir -p "$files"
  cat "$here"/archive.* | xz -dc | tar -x -C "$files"
  # kube-scheduler is one of Kubernetes' programs, and the JVM of Tranche's image also runs the demo.
  mkdir -p "$files/scheduler/usr/local/bin"
  cp "$root/usr/local/bin/kube" "$files/scheduler/usr/local/bin/kube-scheduler"
  TMPDIR=$files sh "$files/image.sh" "$(sed -n 's/.*image: "*\(registry.k8s.io\/kube-scheduler[^" ]*\).*/\1/p' "$root$share/tranche-off.yaml" | head -n 1)" \
    "$files/scheduler" "$files/images/scheduler.tar"
  rm -r "$files/scheduler"
  tar -xOf "$files/images/tranche.tar" "$(tar -tf "$files/images/tranche.tar" | grep layer.tar)" | tar -x -C "$root" opt
  : >"$files/unpacked"
}

# The folders of one cgroup, in every hierarchy of the machine. The node and all its pods are in it, so that they can be ended together.
cgroups() {
  if [ "$cgroup2" = /sys/fs/cgroup ]; then
    echo "/sys/fs/cgroup/$group"
  else
    for hierarchy in /sys/fs/cgroup/*/; do
      [ ! -f "$hierarchy/cgroup.procs" ] || echo "$hierarchy$group"
    done
  fi
}

start() {
  started=$(date +%s)
  unpack
  # The first CUDA program of a machine would make its device nodes, which containers need before.
  [ -n "$simulated" ] || nvidia-modprobe -u -c 0 2>/dev/null || /sbin/modprobe -q nvidia-uvm 2>/dev/null || true
  lacks=$(probe)
  [ -z "$lacks" ] || echo "$lacks"
  case $lacks in *missing:*) fail "this machine lacks what is missing above" ;; esac
  case $lacks in *"without MPS"*) mps= ;; esac
  limits=required
  case $lacks in *"without memory limits"*) limits=off ;; esac
  mkdir -p "$state"
  [ ! -f $subtree ] || [ -f "$state/controllers" ] || cp $subtree "$state/controllers"
  for folder in $(cgroups); do
    # On cgroup v2 a group with processes has no groups with limits in it.
    mkdir -p "$folder/node"
    # A new group of cpusets has neither CPUs nor memory nodes.
    for file in cpuset.cpus cpuset.mems node/cpuset.cpus node/cpuset.mems; do
      [ ! -f "$folder/$file" ] || cat "${folder%/*}/${file#node/}" >"$folder/$file"
    done
  done
  echo "starting Kubernetes"
  (
    for folder in $(cgroups); do echo 0 >"$folder/node/cgroup.procs"; done
    exec setsid "$busybox" unshare --mount --net --uts --ipc "$busybox" sh "$files/node.sh" "$files" "$group" "$hook" "$simulated" >"$state/log" 2>&1 </dev/null
  ) &
  echo $! >"$state/pid"
  until grep -q "sync successful" "$state/log" 2>/dev/null; do
    running || fail "the node ended: $(cat "$state/log")"
    sleep 1
  done
  echo "installing Tranche"
  inside kubectl create namespace tranche >/dev/null
  sed "s|\"/host/cgroup\"|\"/host/cgroup${cgroup2#/sys/fs/cgroup}\"|" "$root$share/tranche-$limits.yaml" | inside kubectl apply --server-side -f - >/dev/null
}

# run_java PROGRAM [ARG]: one of the demo's own.
run_java() {
  # shellcheck disable=SC2086 # nothing, or one word
  inside /opt/tranche/runtime/bin/java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dstdout.encoding=UTF-8 \
    --enable-native-access=ALL-UNNAMED -Djna.boot.library.path=/opt/tranche/native -Dtranche.started="$started" -Dtranche.demo="$here/demo" \
    -cp "$share/demo.jar:/opt/tranche/lib/*" "dev.tranche.e2e.machine.$1" $kubeconfig ${2:-} \
    ${simulated:+--simulated} --limits=$limits $mps
}

# Whatever verify came to.
end_verify() {
  status=$?
  [ ! -f "$root/verify-gpu.json" ] || mv "$root/verify-gpu.json" "$here/"
  {
    cat "$state/log"
    inside kubectl get nodes,pods,events -A -o wide
    inside kubectl logs -n tranche -l app.kubernetes.io/name=tranche --all-containers --prefix --tail=-1
  } >"$here/verify-gpu.log" 2>&1 || true
  down
  exit $status
}

running() {
  [ -s "$state/pid" ] && kill -0 "$(cat "$state/pid")" 2>/dev/null
}

# inside PROGRAM ARG...: in the node's namespaces, with its files.
inside() {
  nsenter -t "$(cat "$state/pid")" -m -n -u -i /usr/bin/env KUBECONFIG=$kubeconfig \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

processes() {
  for folder in $(cgroups); do
    [ ! -d "$folder" ] || find "$folder" -name cgroup.procs -exec "$busybox" cat {} + 2>/dev/null
  done | sort -u
}

down() {
  # MPS's daemon restores the compute modes of GPUs as it ends.
  ! running || inside kubectl delete -n tranche --cascade=foreground --timeout=60s daemonset tranche-mps-control-daemon >/dev/null 2>&1 || true
  deadline=$(($(date +%s) + 60))
  left=$(processes)
  while [ -n "$left" ]; do
    [ "$(date +%s)" -lt $deadline ] || fail "these processes do not end: $left"
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
      [ ! -d "$folder" ] || find "$folder" -depth -type d -exec "$busybox" rmdir {} + 2>/dev/null || sleep 0.2
    done
  done
  # The node switched on what the root group did not give to its children before.
  [ ! -f "$state/controllers" ] || tr " " "\n" <$subtree | while read -r controller; do
    grep -qw "$controller" "$state/controllers" || echo "-$controller" >$subtree 2>/dev/null || true
  done
  for folder in var/lib/rancher var/lib/kubelet var/lib/tranche var/lib/cni var/log/stand-in etc/rancher; do rm -rf "${root:?}/$folder"; done
  rm -rf "$state"
}

[ "$(id -u)" = 0 ] || fail "run this as root"
command=${1:-up}
[ $# -eq 0 ] || shift
simulated='' mps=''
[ "$command" = kubectl ] || for option in "$@"; do
  case $option in
    --simulated) simulated=615.71.09 ;;
    --simulated=*) simulated=${option#*=} ;;
    --mps) mps=--mps ;;
    *) fail "\"$option\" is no option; there are --simulated, --simulated=DRIVER and --mps" ;;
  esac
done
case $command in up | verify) ! running || fail "it runs already; $0 down ends it" ;; esac
case $command in
  up)
    start
    run_java GpuDemo
    ;;
  verify)
    trap end_verify EXIT
    trap "exit 1" INT TERM
    start
    run_java ClusterChecks /verify-gpu.json
    ;;
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
