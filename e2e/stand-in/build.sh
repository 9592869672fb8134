#!/usr/bin/env bash
# build.sh [PART...]: builds the stand-in for the rancher/k3s image and the images that tests need, once;
# results are kept under ${TRANCHE_CACHE:-~/.cache/tranche} by the hash of their inputs. Prints a line
# PART=VALUE for each part asked for (default: all):
#   node        the stand-in's image in the Docker engine
#   scheduler   tar of registry.k8s.io/kube-scheduler:$KUBERNETES_VERSION
#   busybox     tar of tranche-e2e/busybox:1
#   base        base image of our own images, which the Docker engine then has
#   kubectl     a kubectl program for this machine
#   parts       the folders that the node is made of, one line each
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
KUBERNETES_VERSION=$("$here/../../.build/kubernetes-version.sh")
export KUBERNETES_VERSION
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$here/../../.build/cache.sh"
steps=$here/build
registry=$here/../../.build/registry.sh

kube() {
  cached "kube-$KUBERNETES_VERSION" "$steps/kube.sh" "$steps/go-module.sh" "$(other_patches)" "$here/kube" "$here/etcd" \
    "$here/scheduler"
}

# Only those of this version: another one's must not compile this one anew.
other_patches() {
  awk -v release="$KUBERNETES_VERSION" '$1 == release' "$steps/other-patches"
}

rootfs() {
  local folder
  folder=$(cached rootfs "$steps/rootfs.sh")
  echo "$folder/rootfs"
}

node() {
  local KUBE COREDNS PAUSE ROOTFS image
  image=tranche-e2e/k3s-stand-in:$KUBERNETES_VERSION-$(hash_of "$here/node" "$here/kube" "$here/etcd" \
    "$here/coredns" "$here/pause" "$steps")
  if ! docker image inspect "$image" >/dev/null 2>&1; then
    KUBE=$(kube)
    COREDNS=$(cached coredns "$steps/coredns.sh" "$here/coredns")
    PAUSE=$(cached pause "$steps/pause.sh" "$here/pause")
    ROOTFS=$(rootfs)
    export KUBE COREDNS PAUSE ROOTFS
    echo "assembling $image" >&2
    "$steps/node.sh" "$image"
  fi
  echo "$image"
}

scheduler() {
  local KUBE folder
  KUBE=$(kube)
  export KUBE
  folder=$(cached "scheduler-$KUBERNETES_VERSION" "$steps/scheduler.sh" "$(basename "$KUBE")")
  echo "$folder/image.tar"
}

from_rootfs() {
  local ROOTFS folder
  ROOTFS=$(rootfs)
  export ROOTFS
  folder=$(cached "$1" "$steps/$1.sh" "$steps/rootfs.sh")
  echo "$folder/image.tar"
}

# Where a registry answers, its image does and nothing has to be built.
busybox() {
  local tar=$cache/busybox-pulled.tar
  if "$registry" busybox:1.37; then
    [ -f "$tar" ] || { docker tag busybox:1.37 tranche-e2e/busybox:1 && docker save -o "$tar" tranche-e2e/busybox:1; }
    echo "$tar"
  else
    from_rootfs busybox
  fi
}

base() {
  local image=debian:bookworm-slim tar
  if ! "$registry" $image; then
    tar=$(from_rootfs base)
    docker image inspect $image >/dev/null 2>&1 || docker load -qi "$tar" >&2
  fi
  echo $image
}

kubectl() {
  local folder
  folder=$(kube)
  ln -sf kube "$folder/kubectl"
  echo "$folder/kubectl"
}

parts() {
  local folder
  folder=$(kube)
  echo "$folder"
  echo "rootfs=$(rootfs)"
  echo "coredns=$(cached coredns "$steps/coredns.sh" "$here/coredns")"
  echo "pause=$(cached pause "$steps/pause.sh" "$here/pause")"
}

"$here/../../.build/docker.sh"
[ $# -gt 0 ] || set -- node scheduler busybox base kubectl
for part in "$@"; do
  case $part in
    node | scheduler | busybox | base | kubectl | parts)
      value=$("$part")
      [ "$part" != parts ] || part=kube
      echo "$part=$value"
      ;;
    *)
      echo "error: unknown part '$part'; parts are: node scheduler busybox base kubectl parts" >&2
      exit 2
      ;;
  esac
done
