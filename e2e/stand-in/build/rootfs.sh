#!/usr/bin/env bash
# rootfs.sh FOLDER: FOLDER/rootfs, a Debian with what a node needs besides Kubernetes.
set -euo pipefail
out=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=SCRIPTDIR/../../../.build/apt.sh
. "$here/../../.build/apt.sh"

packages=(
  containerd runc containernetworking-plugins # containers
  iptables conntrack iproute2 kmod mount procps # what kubelet and kube-proxy call
  openssl ca-certificates curl
  libstdc++6 zlib1g tzdata netbase busybox-static # for the base and test images
)

[ "$(id -u)" = 0 ] || {
  echo "error: building the stand-in for K3s needs root (debootstrap); or let the image rancher/k3s be pulled" >&2
  exit 1
}
need_packages debootstrap debian-archive-keyring
include=$(IFS=,; echo "${packages[*]}")
debootstrap --variant=minbase --include="$include" bookworm "$out/rootfs" \
  "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$out/debootstrap.log" || {
  tail -n 20 "$out/debootstrap.log" >&2
  exit 1
}
cd "$out/rootfs"
rm -rf var/cache/apt/* var/lib/apt/lists/* usr/share/{doc,man,locale,info,lintian} usr/bin/containerd-stress
# Device nodes and mounts are the engine's work.
rm -rf dev/* proc/* sys/*
