#!/bin/sh
# node.sh FOLDER GROUP HOOK DRIVER: in new namespaces, makes FOLDER/root the root and becomes the node of the cgroup GROUP. HOOK is the machine's
# nvidia-cdi-hook, or empty. With DRIVER, NVML is simulated, and has $TRANCHE_SIMULATED_GPUS GPUs.
set -eu
files=$1
group=$2
hook=$3
simulated=$4
gpus=$(seq 0 $((${TRANCHE_SIMULATED_GPUS:-1} - 1)))
root=$files/root
name=gpu-node
address=10.41.0.2
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
images=var/lib/rancher/k3s/agent/images
rm -rf nvidia-driver
mkdir -p dev proc sys run tmp old nvidia-driver/dev lib/modules var/lib/tranche $images
mount --rbind /proc proc
mount --rbind /sys sys
[ ! -d /lib/modules ] || mount --bind /lib/modules lib/modules
mount -t tmpfs tmpfs run
mount --bind "$files/images" $images

# Device nodes of GPUs that do not exist are made in a /dev of the node's own.
simulated_dev() {
  mount -t tmpfs tmpfs dev
  for node in null zero full random urandom tty kmsg fuse; do [ ! -e /dev/$node ] || cp -a /dev/$node dev/; done
  mkdir dev/pts dev/shm dev/mqueue
  mount -t devpts devpts dev/pts
  ln -s /proc/self/fd dev/fd
  for index in $gpus; do mknod dev/nvidia"$index" c 195 "$index"; done
  mknod dev/nvidiactl c 195 255
}

simulated_driver() {
  cp -r "$files/simulated/." nvidia-driver/
  for library in libcuda libnvidia-ml; do cp nvidia-driver/usr/lib64/$library.so.1 "nvidia-driver/usr/lib64/$library.so.$simulated"; done
  # It keeps limits and compute modes in one folder, which the hook, the plugin and MPS's daemon know by different names.
  mkdir -p run/nvidia/mps
  mount --bind var/lib/tranche run/nvidia/mps
  # NVIDIA's container toolkit needs a script in front of it.
  for program in cdi-hook container-runtime; do mount --bind usr/local/nvidia/toolkit/run.sh usr/local/nvidia/toolkit/nvidia-$program; done
}

if [ -n "$simulated" ]; then
  simulated_dev
  simulated_driver
  mount --rbind dev nvidia-driver/dev
else
  mount --rbind /dev dev
  mount --bind / nvidia-driver
  mount --bind /usr nvidia-driver/usr
  mount --rbind /dev nvidia-driver/dev
  for folder in nvidia-driver nvidia-driver/usr; do mount -o remount,bind,ro $folder; done
fi
[ -z "$hook" ] || mount --bind "$hook" "usr/local/nvidia/toolkit/nvidia-cdi-hook${simulated:+.real}"
if [ -n "$hook" ]; then "$hook" --version | sed -n '1s/.* //p'; else cat usr/local/nvidia/toolkit/version; fi >run/toolkit-version
pivot_root . old
cd /
umount -l old

hostname $name
printf '127.0.0.1 localhost\n%s %s\n' $address $name >/etc/hosts
# Nothing outside is reachable, and the cluster's own DNS needs an address to forward to.
echo "nameserver 192.0.2.1" >/etc/resolv.conf
# Not the shell's own command of this name, which knows no veth.
/sbin/ip link set lo up
/sbin/ip link add eth0 type veth peer name eth0-peer
/sbin/ip address add $address/24 dev eth0
/sbin/ip link set eth0 up
/sbin/ip link set eth0-peer up
/sbin/ip route add default via ${address%.*}.1 dev eth0

# The driver reports what each gpu-load was told to take.
simulate_use() {
  driver=/nvidia-driver/usr/lib64 limits=
  [ "${simulated%%.*}" -lt 615 ] || limits=limits=dmem
  while :; do
    echo "driver version=$simulated nodes=1 $limits" >$driver/.state
    for index in $gpus; do
      used=0 busy=0
      for pid in $(pgrep gpu-load); do
        [ -e "/proc/$pid/root/dev/nvidia$index" ] || continue
        # shellcheck disable=SC2046 # its options
        set -- $(tr '\0' ' ' <"/proc/$pid/cmdline")
        [ "${2:-}" = --busy ] || [ "${3:-}" = --busy ] || continue
        [ "$2" = --busy ] || shift
        used=$((used + ${5%Mi})) busy=$((busy + $3))
        echo "process gpu=$index pid=$pid used_mib=${5%Mi} sm=$3"
      done
      echo "gpu index=$index uuid=GPU-00000000-0000-0000-0000-00000000001$index model=\"Tesla T4\" memory_mib=15360 reserved_mib=450 used_mib=$used sm=$busy"
    done >>$driver/.state
    mv $driver/.state $driver/gpus.state
    sleep 1
  done
}
if [ -n "$simulated" ]; then
  simulate_use &
  sleep 1
fi
exec /usr/local/bin/k3s server --node-name=$name --node-ip=$address \
  --kubelet-arg=node-status-update-frequency=1s --kubelet-arg=sync-frequency=10s --kubelet-arg="cgroup-root=/$group"
