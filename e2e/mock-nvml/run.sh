#!/usr/bin/env bash
# run.sh FOLDER [PROFILE...]: runs ./verify-gpu on NVIDIA's mock NVML, once for each of its GPU profiles (a100, t4, …). FOLDER is a checkout
# of https://github.com/NVIDIA/k8s-test-infra; nothing is written there. It prints what each report calls failed, different or not
# available. The reports stay in target/mock-nvml; their first lines are to be compared with the profile. The mock has no device nodes and
# no libcuda.so, so differences in those are expected.
set -euo pipefail
shopt -s inherit_errexit
# shellcheck source=SCRIPTDIR/../../.build/prepare.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../.build/prepare.sh"
[ -f "${1:-}/pkg/gpu/mocknvml/Makefile" ] || {
  sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
mock=$(cd "$1/pkg/gpu/mocknvml" && pwd)
profiles=("${@:2}")
[ ${#profiles[@]} -gt 0 ] || mapfile -t profiles < <(basename -as .yaml "$mock"/configs/mock-nvml-config-*.yaml | sed 's/^mock-nvml-config-//')

compile() {
  local go
  go=$("$root/.build/go.sh")
  # Its padding makes the file as long as a real one; that needs a second build, and nothing here looks at it.
  PATH=$(dirname "$go"):$PATH CGO_CFLAGS="-O2 -Wno-deprecated-declarations" GOFLAGS="-mod=vendor -buildvcs=false" make -s -C "$mock" NO_PADDING=1 \
    LIB_REALNAME="$1/libnvidia-ml.so.1" "$1/libnvidia-ml.so.1"
}

prepare_jdk
prepare_compiler
prepare_jars
library=$(cached mock-nvml compile "$mock"/{Makefile,bridge,engine} "$mock/../../../go.sum" "$(uname -m)")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$root/target/mock-nvml
mkdir -p "$out"
# Settings of whoever runs this would change what the mock answers.
unset "${!MOCK_@}"
for profile in "${profiles[@]}"; do
  file=$mock/configs/mock-nvml-config-$profile.yaml
  # The mock reads the profile that lies beside its own folder, so that the plugin's process has it, too.
  mkdir -p "$work/$profile"/{usr/lib64,config}
  name=libnvidia-ml.so.$(sed -n '/^ *driver_version: *"\{0,1\}\([0-9.]*\).*/{s//\1/p;q}' "$file")
  cp "$library/libnvidia-ml.so.1" "$work/$profile/usr/lib64/$name"
  ln -s "$name" "$work/$profile/usr/lib64/libnvidia-ml.so.1"
  cp "$file" "$work/$profile/config/config.yaml"
  # It fails where a check does.
  "$root/verify-gpu" --driver-root "$work/$profile" --seconds "${SAMPLE_SECONDS:-2}" --out "$out/$profile.json" >"$out/$profile.txt" || true
  grep -E '^  (failed|differs|not available) ' "$out/$profile.txt" | sed "s/^/$profile:/"
done
