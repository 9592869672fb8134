# shellcheck shell=bash disable=SC2154,SC2034 # the parts share their variables
# containerd and the images that were put on the node.

containerd_root=$data/agent/containerd
containerd_socket=/run/containerd/containerd.sock
nvidia_runtime=/usr/local/nvidia/toolkit/nvidia-container-runtime

# Overlays do not work on an overlay: it depends on what lies below this folder.
choose_snapshotter() {
  local try=$containerd_root/.try
  mkdir -p "$try"/{lower,upper,work,merged}
  if mount -t overlay overlay -o "lowerdir=$try/lower,upperdir=$try/upper,workdir=$try/work" "$try/merged" 2>/dev/null; then
    umount "$try/merged"
    echo overlayfs
  else
    echo native
  fi
  rm -rf "$try"
}

chosen_snapshotter() { cat "$containerd_root/snapshotter"; }

run_containerd() {
  mkdir -p /etc/containerd "$containerd_root"
  snapshotter=$(choose_snapshotter)
  echo "$snapshotter" >"$containerd_root/snapshotter"
  containerd_config >/etc/containerd/config.toml
  supervise containerd containerd
}

containerd_config() {
  local restricted=true
  if has_sys_resource; then restricted=false; fi
  cat <<TOML
version = 2
root = "$containerd_root"
[grpc]
address = "$containerd_socket"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "tranche-e2e/pause:1"
restrict_oom_score_adj = $restricted
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "$snapshotter"
TOML
  # As K3s does when it finds this file.
  [ -x $nvidia_runtime ] || return 0
  cat <<TOML
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "$nvidia_runtime"
TOML
}

import_images() {
  wait_until 60 containerd containerd ctr version
  local tar
  for tar in /usr/local/share/stand-in/pause.tar "$data"/agent/images/*.tar; do
    [ -f "$tar" ] || continue
    ctr -n k8s.io images import --snapshotter "$snapshotter" "$tar" >>"$logs/images.log" 2>&1 ||
      { tail -n 5 "$logs/images.log" >&2 && fail "cannot import the images in $tar"; }
  done
}
