#!/usr/bin/env bash
# build.sh PROGRAM: builds what the tests run beside Tranche, once, and prints PROGRAM=FOLDER. Programs in Go are of their published modules.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../.build/cache.sh"
program=${1:?usage: build.sh PROGRAM}
sources=$here/$program
inputs=("$sources"/go.{mod,sum})

# go_build FILE PACKAGE...
go_build() { "$go" build -mod=readonly -trimpath -ldflags "-s -w" -o "$@"; }

# go_folder MODULE: of a module that go.mod names.
go_folder() { "$go" list -mod=readonly -m -f '{{.Dir}}' "$1"; }

# take_chart FOLDER MODULE PATH
take_chart() {
  cp -r "$(go_folder "$2")/$3" "$1/chart"
  chmod -R u+w "$1/chart"
}

# So that programs which link to the driver load without one.
missing_so() { "$cc" -std=c11 -O1 -shared -fPIC -Wall -Wextra -Werror -o "$1/missing.so" "$here/nvidia-plugin/missing.c" -ldl; }

# Its controllers and CRDs.
cert-manager() {
  go_build "$1/cert-manager" .
  mkdir "$1/crds"
  install -m 644 "$(go_folder github.com/cert-manager/cert-manager)"/deploy/crds/cert-manager.io_*.yaml "$1/crds/"
}

# containerd 2: its two programs for a node.
containerd() {
  local each
  for each in containerd containerd-shim-runc-v2; do
    go_build "$1/$each" -tags "no_btrfs no_zfs no_devmapper" "github.com/containerd/containerd/v2/cmd/$each"
  done
}

# The example driver of Kubernetes' DRA: its image and its chart.
dra-driver() {
  local module=sigs.k8s.io/dra-example-driver
  go_build "$1/root/bin/dra-example-kubeletplugin" $module/cmd/dra-example-kubeletplugin
  take_chart "$1" $module deployments/helm/dra-example-driver
  docker_image "$1" tranche-e2e/dra-driver:1 'ENV PATH=/bin'
}

# Its image and its chart.
kueue() {
  go_build "$1/root/manager" sigs.k8s.io/kueue/cmd/kueue
  take_chart "$1" sigs.k8s.io/kueue charts/kueue
  docker_image "$1" tranche-e2e/kueue:1 'ENTRYPOINT ["/manager"]' 'USER 65532:65532'
}

# NVIDIA's device plugin and GPU Feature Discovery, and the program that records what the plugin answers.
nvidia-plugin() {
  missing_so "$1"
  export CGO_ENABLED=1
  go_build "$1/" github.com/NVIDIA/k8s-device-plugin/cmd/{nvidia-device-plugin,gpu-feature-discovery} ./record
}

# The parser of NVIDIA's config files.
nvidia-parser() { go_build "$1/parser" .; }

# A static program that runs on any node image, for /usr/local/nvidia/toolkit.
nvidia-runtime() {
  "$cc" -std=gnu11 -static -O1 -s -Wall -Wextra -Werror -o "$1/nvidia-container-runtime" "$sources/runtime.c" "$sources/gpus.c" "$sources/json.c"
}

# Programs of NVIDIA's container toolkit. The folder older has the last release without the hook that limits memory, and node is the folder
# /usr/local/nvidia/toolkit of a node of a test cluster.
nvidia-toolkit() {
  local each toolkit=github.com/NVIDIA/nvidia-container-toolkit/cmd
  missing_so "$1"
  export CGO_ENABLED=1 CGO_CFLAGS=-Wno-deprecated-declarations
  go_build "$1/" $toolkit/{nvidia-cdi-hook,nvidia-container-runtime,nvidia-ctk}
  cp -R node "$1/"
  for each in nvidia-cdi-hook nvidia-container-runtime nvidia-ctk; do
    ln "$1/$each" "$1/node/$each.real"
    ln -s run.sh "$1/node/$each"
  done
  ln "$1/missing.so" "$1/node/"
  # A driver has it, and the specs of NVIDIA's toolkit name it.
  "$cc" -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$1/libcuda.so" -x c /dev/null
  cd older
  mkdir "$1/older"
  go_build "$1/older/" $toolkit/nvidia-cdi-hook
}

compile() {
  go=$("$here/../.build/go.sh")
  cc=$("$here/../.build/tool.sh" gcc)
  export CGO_ENABLED=0 GOWORK=off CC=$cc
  cd "$sources"
  "$program" "$1"
}

case $program in
  cert-manager) inputs=("$sources"/{main.go,go.mod,go.sum}) ;;
  containerd) ;;
  dra-driver | kueue) "$here/../.build/docker.sh" ;;
  nvidia-plugin) inputs+=("$sources"/{missing.c,record}) ;;
  nvidia-parser)
    sources=$here/nvidia-plugin/parser
    inputs=("$sources")
    ;;
  nvidia-runtime) inputs=("$sources") ;;
  nvidia-toolkit) inputs+=("$sources"/{older,node} "$here/nvidia-plugin/missing.c") ;;
  *) echo "error: build.sh does not know \"$program\"" >&2; exit 2 ;;
esac
folder=$(cached "$program" compile "${inputs[@]}")
echo "$program=$folder"
