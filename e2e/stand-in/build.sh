#!/usr/bin/env bash
# build.sh [PART...]: builds the stand-in for the rancher/k3s image and the images that tests need, once;
# results are kept under ${TRANCHE_CACHE:-~/.cache/tranche} by the hash of their inputs. Prints a line
# PART=VALUE for each part asked for (default: the first five):
#   node          the stand-in's image in the Docker engine
#   scheduler     tar of registry.k8s.io/kube-scheduler:$KUBERNETES_VERSION
#   busybox       tar of tranche-e2e/busybox:1
#   base          base image of our own images, which the Docker engine then has
#   kubectl       a kubectl program for this machine
#   files=FOLDER  the files of a node, in a folder
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
KUBERNETES_VERSION=$("$here/../../.build/kubernetes-version.sh")
export KUBERNETES_VERSION
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

# CoreDNS as a static program.
make_coredns() {
  local go
  go=$("$here/../../.build/go.sh")
  cd "$here/coredns"
  CGO_ENABLED=0 GOWORK=off "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$1/coredns" .
}

# The image of a pod's sandbox.
make_pause() {
  local cc
  cc=$("$here/../../.build/tool.sh" gcc)
  mkdir "$1/root"
  "$cc" -static -Os -s -Wall -Wextra -Werror -o "$1/root/pause" "$here/pause/pause.c"
  docker_image "$1" tranche-e2e/pause:1 'ENTRYPOINT ["/pause"]'
}

# A small image with a shell for tests.
make_busybox() {
  local applet rootfs
  rootfs=$(rootfs)
  mkdir -p "$1"/root/{bin,etc,root}
  cp "$rootfs/bin/busybox" "$1/root/bin/"
  for applet in $("$rootfs/bin/busybox" --list | grep -vx busybox); do ln -s busybox "$1/root/bin/$applet"; done
  echo root:x:0:0:root:/root:/bin/sh >"$1/root/etc/passwd"
  echo root:x:0: >"$1/root/etc/group"
  docker_image "$1" tranche-e2e/busybox:1 'ENV PATH=/bin' 'CMD ["sh"]'
}

# What a Java runtime links to, under the name of the public image that holds the same files and more (a shell among them: our own
# images need none).
make_base() {
  local rootfs path root=$1/root packages=(base-files netbase tzdata ca-certificates libc6 libgcc-s1 libstdc++6 zlib1g)
  rootfs=$(rootfs)
  # /bin, /lib and the like are links into /usr: first the links, then all files through them.
  for path in bin sbin lib lib64; do
    mkdir -p "$root/usr/$path"
    ln -s "usr/$path" "$root/$path"
  done
  # Folders are made as needed; a package may own files that the rootfs leaves out (manuals).
  for path in "${packages[@]}"; do cat "$rootfs/var/lib/dpkg/info/$path"{,:*}.list 2>/dev/null || true; done | sort -u |
    while read -r path; do
      path=$(realpath -ms --relative-to=/ "$path")
      if [ -L "$rootfs/$path" ] || [ -f "$rootfs/$path" ]; then echo "$path"; fi
    done | tar -C "$rootfs" -cf - -T - | tar -C "$root" -xf - --keep-directory-symlink
  mkdir -p "$root"/{etc/ssl/certs,home/nonroot,run,var/tmp,var/lib/dpkg}
  chmod 1777 "$root/var/tmp"
  cp "$rootfs/var/lib/dpkg/status" "$root/var/lib/dpkg/"
  cp "$rootfs/etc/ssl/certs/ca-certificates.crt" "$root/etc/ssl/certs/"
  cp "$rootfs/etc/ld.so.cache" "$root/etc/"
  printf '%s\n' root:x:0:0:root:/root:/sbin/nologin nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin >"$root/etc/passwd"
  printf '%s\n' root:x:0: nonroot:x:65532: >"$root/etc/group"
  chown 65532:65532 "$root/home/nonroot"
  docker_image "$1" debian:bookworm-slim 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt'
}

# The stock kube-scheduler under its public name, its program where the public image has it.
make_scheduler() {
  local name=registry.k8s.io/kube-scheduler programs
  programs=$(kube)
  mkdir -p "$1/root/usr/local/bin"
  cp "$programs/scheduler" "$1/root/usr/local/bin/kube-scheduler"
  docker_image "$1" "$name:$KUBERNETES_VERSION" 'ENV PATH=/usr/local/bin'
  # Helm hides from a chart that a version is an early one, such as v1.38.0-alpha.0: the chart then takes the release's image.
  docker tag "$name:$KUBERNETES_VERSION" "$name:${KUBERNETES_VERSION%%-*}"
  docker save -o "$1/image.tar" "$name:$KUBERNETES_VERSION" "$name:${KUBERNETES_VERSION%%-*}"
}

# files FOLDER: what a node consists of.
files() {
  local kube coredns pause rootfs name
  kube=$(kube)
  coredns=$(cached coredns make_coredns "${BASH_SOURCE[0]}" "$here/coredns")
  pause=$(cached pause make_pause "${BASH_SOURCE[0]}" "$here/pause")
  rootfs=$(rootfs)
  mkdir -p "$1"
  cp -a "$rootfs/." "$1"
  mkdir -p "$1"/usr/local/{bin,lib,share/stand-in}
  cp "$kube/kube" "$kube/etcd" "$coredns/coredns" "$here/node/k3s" "$1/usr/local/bin/"
  for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
    ln -s kube "$1/usr/local/bin/$name"
  done
  cp -r "$here/node/lib" "$1/usr/local/lib/stand-in"
  cp "$pause/image.tar" "$1/usr/local/share/stand-in/pause.tar"
}

node() {
  local image work
  image=tranche-e2e/k3s-stand-in:$KUBERNETES_VERSION-$(hash_of "$here"/{build.sh,build,node,kube,etcd,coredns,pause})
  if ! docker image inspect "$image" >/dev/null 2>&1; then
    work=$(mktemp -d "$cache/.node.XXXXXX")
    # shellcheck disable=SC2064 # The folder is known now.
    trap "rm -rf '$work'" EXIT
    files "$work"
    echo "assembling $image" >&2
    rm -rf "$work/var/lib/dpkg/info"
    chmod 755 "$work"
    # Volumes as K3s declares them: image layers of pods need a file system that is not an overlay itself.
    tar -cf - -C "$work" . | docker import \
      --change 'ENTRYPOINT ["/usr/local/bin/k3s"]' --change 'CMD ["agent"]' \
      --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
      --change 'ENV KUBECONFIG=/etc/rancher/k3s/k3s.yaml' \
      --change 'VOLUME /var/lib/kubelet /var/lib/rancher/k3s /var/lib/cni /var/log' - "$image" >/dev/null
  fi
  echo "$image"
}

# image_tar NAME INPUT...: of an image that make_NAME makes.
image_tar() {
  local folder
  folder=$(cached "$1" "make_${1%%-*}" "${BASH_SOURCE[0]}" "${@:2}")
  echo "$folder/image.tar"
}

scheduler() {
  local kube
  kube=$(kube)
  image_tar "scheduler-$KUBERNETES_VERSION" "$(basename "$kube")"
}

# Where a registry answers, its image does and nothing has to be built.
busybox() {
  local tar=$cache/busybox-pulled.tar
  if "$registry" busybox:1.37; then
    [ -f "$tar" ] || { docker tag busybox:1.37 tranche-e2e/busybox:1 && docker save -o "$tar" tranche-e2e/busybox:1; }
    echo "$tar"
  else
    image_tar busybox "$steps/rootfs.sh"
  fi
}

base() {
  local image=debian:bookworm-slim tar
  if ! "$registry" $image; then
    tar=$(image_tar base "$steps/rootfs.sh")
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

"$here/../../.build/docker.sh"
[ $# -gt 0 ] || set -- node scheduler busybox base kubectl
for part in "$@"; do
  case $part in
    node | scheduler | busybox | base | kubectl)
      value=$("$part")
      echo "$part=$value"
      ;;
    files=*) files "${part#*=}" ;;
    *)
      echo "error: unknown part '$part'; parts are: node scheduler busybox base kubectl files=FOLDER" >&2
      exit 2
      ;;
  esac
done
