#!/usr/bin/env bash
# pack.sh FOLDER [LEVEL]: writes the demo on real GPUs as one folder, for a machine without Docker, a network or a JDK: the script `demo`, a shell's
# tools, and an archive in parts of at most 48 MiB. ./demo has built what it packs: the jars, and what target/e2e.properties
# names. LEVEL is xz's.
set -euo pipefail
shopt -s inherit_errexit
out=${1:?usage: pack.sh FOLDER [LEVEL]}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=SCRIPTDIR/../../.build/cache.sh
. "$top/.build/cache.sh"
release=$("$top/.build/kubernetes-version.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root" "$work/images"

built() { sed -n "s/^$1=//p" "$top/target/e2e.properties"; }

# The stand-in's node, which runs in a container elsewhere, with a containerd that knows CDI.
node_files() {
  "$top/e2e/stand-in/build.sh" files="$root"
  rm -rf "$root"/usr/bin/{containerd*,perl*,apt*,dpkg*} "$root"/usr/lib/{apt,dpkg} "$root"/usr/lib/x86_64-linux-gnu/{gconv,perl-base} \
    "$root"/usr/share/{perl5,bash-completion,zoneinfo,keyrings} "$root"/var/lib/dpkg
  find "$root/usr/lib/cni" -type f ! -name ptp ! -name host-local ! -name portmap ! -name loopback -delete
  cp "$("$top/e2e/build.sh" containerd | sed s/^containerd=//)"/containerd* "$root/usr/local/bin/"
  cp "$here/nvidia-ctk" "$root/usr/bin/"
}

# The program that loads a GPU, and the C library that it and the driver's libraries link to.
load_image() {
  local files=$work/load name
  mkdir -p "$files"/{usr/lib/x86_64-linux-gnu,usr/lib64,tmp}
  ln -s usr/lib "$files/lib"
  ln -s usr/lib64 "$files/lib64"
  for name in ld-linux-x86-64 libc libm libdl libpthread librt; do
    cp -a "$root/usr/lib/x86_64-linux-gnu/$name".so.* "$files/usr/lib/x86_64-linux-gnu/"
  done
  ln -s ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$files/usr/lib64/ld-linux-x86-64.so.2"
  "${CC:-$("$top/.build/tool.sh" gcc)}" -std=gnu11 -O2 -Wall -Wextra -Werror -o "$files/gpu-load" "$here/gpu-load.c" -ldl
  "$here/image.sh" tranche-e2e/gpu-load:1 "$files" "$work/images/gpu-load.tar"
}

# Tranche itself: its image, and the chart as plain YAML for one node. The driver's root is where node.sh puts it.
tranche() {
  local image
  image=$(built image.tag)
  cp "$(built image.tar)" "$work/images/tranche.tar"
  "$("$top/.build/tool.sh" helm)" template tranche "$top/charts/tranche" -n tranche --no-hooks --kube-version "$release" \
    --set image.repository="${image%:*}",image.tag="${image##*:}" --set webhook.replicas=1,extender.replicas=1 \
    --set runtimeClass.name=,nvidiaDriverRoot=/nvidia-driver,nvidiaDevRoot=/,deviceListStrategy=cdi-cri >"$root/usr/local/share/stand-in/tranche.yaml"
  "$JAVA_HOME/bin/jar" --create --no-manifest --file "$root/usr/local/share/stand-in/demo.jar" \
    -C "$top/e2e/target/classes" dev/tranche/e2e/machine -C "$top/e2e/target/classes" dev/tranche/e2e/install \
    -C "$top/e2e/verify/target/classes" dev/tranche/e2e/verify
}

node_files
load_image
tranche
cp "$here"/{node,image}.sh "$work/"
mkdir -p "$work/simulated"
cp "$(built fakenvml)" "$work/simulated/libnvidia-ml.so.1"
mkdir -p "$out"
rm -rf "$out"/{archive.*,busybox,files}
cp "$here/run.sh" "$out/demo"
cp "$root/bin/busybox" "$out/busybox"
chmod 755 "$out/demo" "$out/busybox"
echo "compressing, for some minutes" >&2
tar -C "$work" --exclude=./load -cf - . | xz -T0 "-${2:-6}" | split -b 48M -d - "$out/archive."
du -cm "$out"/* >&2
