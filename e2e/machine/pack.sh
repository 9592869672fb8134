#!/usr/bin/env bash
# pack.sh FOLDER [LEVEL]: writes the demo on real GPUs as one folder, for a machine without Docker, a network or a JDK: the script `demo`, a shell's
# tools, and an archive in parts of at most 48 MiB. ./demo has built what it packs: the jars, and what target/e2e.properties
# names. LEVEL is xz's.
set -euo pipefail
shopt -s inherit_errexit
out=${1:?usage: pack.sh FOLDER [LEVEL]}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
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
}

# NVIDIA's container runtime and hook, and what they need beside a simulated NVML.
toolkit() {
  local from to=$root/usr/local/nvidia/toolkit
  from=$("$top/e2e/build.sh" nvidia-toolkit | sed s/^nvidia-toolkit=//)
  mkdir -p "$to" "$work"/simulated/usr/{bin,lib64}
  sed -n 's/.*nvidia-container-toolkit v\([^ ]*\).*/\1 (packed)/p' "$top/e2e/nvidia-toolkit/go.mod" >"$to/version"
  cp -a "$from"/nvidia-{cdi-hook,container-runtime} "$from"/node/{.config,run.sh,missing.so,nvidia-{cdi-hook,container-runtime}.real} "$to/"
  sed -i s,/opt/tranche-e2e/driver,/nvidia-driver, "$to/.config/nvidia-container-runtime/config.toml"
  ln -s ../usr/local/nvidia/toolkit/.config/nvidia-container-runtime "$root/etc/"
  cp "$from/libcuda.so" "$work/simulated/usr/lib64/libcuda.so.1"
  cp "$(built fakenvml)" "$work/simulated/usr/lib64/"
  make -s -C "$top/e2e/fakemps" OUT="$work/simulated/usr/bin" CC="$("$top/.build/tool.sh" gcc)"
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

# Tranche itself: its image, and the chart as plain YAML for one node, with limits of memory and without. The driver's root is where
# node.sh puts it. Only a simulated NVML reads the variables.
tranche() {
  local image limits sharing='version: v1\nsharing:\n  %s:\n    resources:\n      - {name: nvidia.com/gpu, replicas: 20}\n'
  image=$(built image.tag)
  cp "$(built image.tar)" "$work/images/tranche.tar"
  for limits in off required; do
    # shellcheck disable=SC2059 # the format is the config
    "$("$top/.build/tool.sh" helm)" template tranche "$top/charts/tranche" -n tranche --no-hooks --kube-version "$release" \
      --set image.repository="${image%:*}",image.tag="${image##*:}",webhook.replicas=1,extender.replicas=1 \
      --set runtimeClass.create=true,runtimeClassName=nvidia,cdi.nvidiaHookPath=/usr/local/nvidia/toolkit/nvidia-cdi-hook \
      --set nvidiaDriverRoot=/nvidia-driver,nvidiaDevRoot=/,deviceListStrategy=cdi-cri,plainRequests=gpus,nodePlugin.memoryLimits=$limits \
      --set-file config.map.default=<(printf "$sharing" timeSlicing),config.map.mps=<(printf "$sharing" mps) \
      --set nodePlugin.env.TRANCHE_FAKENVML_STATE=/driver-root/usr/lib64/gpus.state,nodePlugin.env.TRANCHE_FAKENVML_COMPUTE_MODES=/mps \
      >"$root/usr/local/share/stand-in/tranche-$limits.yaml"
  done
  "$JAVA_HOME/bin/jar" --create --no-manifest --file "$root/usr/local/share/stand-in/demo.jar" \
    -C "$top/e2e/target/classes" dev/tranche/e2e/machine -C "$top/e2e/target/classes" dev/tranche/e2e/install \
    -C "$top/e2e/verify/target/classes" dev/tranche/e2e/verify
}

node_files
toolkit
load_image
tranche
cp "$here"/{node,image}.sh "$work/"
mkdir -p "$out"
rm -rf "$out"/{archive.*,busybox,files}
cp "$here/run.sh" "$out/demo"
cp "$root/bin/busybox" "$out/busybox"
chmod 755 "$out/demo" "$out/busybox"
echo "compressing, for some minutes" >&2
tar -C "$work" --exclude=./load -cf - . | xz -T0 "-${2:-6}" | split -b 48M -d - "$out/archive."
size=$(du -cm "$out"/{archive.*,busybox,demo} | tee -a /dev/stderr | tail -n 1 | cut -f 1)
# As docs/gpu-support.md promises.
[ "$size" -le 190 ] || { echo "error: $out has more than 190 MiB" >&2 && exit 1; }
