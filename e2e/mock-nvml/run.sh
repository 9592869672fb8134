#!/usr/bin/env bash
# run.sh FOLDER: ./verify-gpu on NVIDIA's mock NVML, once for each of its GPU profiles. --help has more.
set -euo pipefail
shopt -s inherit_errexit

usage() {
  cat <<'USAGE'
e2e/mock-nvml/run.sh FOLDER [PROFILE…]   runs ./verify-gpu on NVIDIA's mock NVML, and prints a table
e2e/mock-nvml/run.sh --help              shows this

FOLDER is a checkout of https://github.com/NVIDIA/k8s-test-infra. The mock is built from its pkg/gpu/mocknvml;
nothing is written there. PROFILE is a100, t4, …; without one, every profile of the mock runs.

The answers are compared with the profile: driver, GPUs, model, memory and uuids. A line under the table
tells each difference. The reports stay in target/mock-nvml.
The mock has no device nodes and no libcuda.so, so differences in those are expected.

Exit status: 0 if nothing unexpected differs, 1 if something does, 2 for a wrong command line.
SAMPLE_SECONDS: how long each run samples. Default: 2.
USAGE
}

refuse() {
  echo "error: $1; e2e/mock-nvml/run.sh --help tells how it is called" >&2
  exit 2
}

case ${1:-} in
  -h | --help)
    usage
    exit
    ;;
  "") refuse "the folder of a checkout of k8s-test-infra is missing" ;;
  -*) refuse "there is no option \"$1\"" ;;
esac
mock=$1/pkg/gpu/mocknvml
shift
[ -f "$mock/Makefile" ] || refuse "there is no $mock/Makefile"
mock=$(cd "$mock" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/../../.build/prepare.sh
. "$here/../../.build/prepare.sh"

profiles=("$@")
if [ $# -eq 0 ]; then
  for file in "$mock"/configs/mock-nvml-config-*.yaml; do
    name=${file##*/mock-nvml-config-}
    profiles+=("${name%.yaml}")
  done
fi
for profile in "${profiles[@]}"; do
  [ -f "$mock/configs/mock-nvml-config-$profile.yaml" ] || refuse "there is no profile \"$profile\" in $mock/configs"
done

compile() {
  local go
  go=$("$root/.build/go.sh")
  # Its padding makes the file as long as a real one; that needs a second build, and nothing here looks at it.
  PATH=$(dirname "$go"):$PATH CGO_CFLAGS="-O2 -Wno-deprecated-declarations" GOFLAGS="-mod=vendor -buildvcs=false" make -s -C "$mock" NO_PADDING=1 \
    LIB_REALNAME="$1/libnvidia-ml.so.1" "$1/libnvidia-ml.so.1"
}

# value FILE KEY: the first such key of a profile.
value() { sed -n "/^ *$2: *\"\{0,1\}\([^\"#]*[^\"# ]\).*/{s//\1/p;q}" "$1"; }

# answer CHECK, sentence CHECK: of this profile's report.
answer() { sed -n "/^  \([a-z ]\{13\}\)  $1: .*/{s//\1/;s/ *$//p;q}" "$report"; }
sentence() { sed -n "/^  [a-z ]\{13\}  $1: /{s///p;q}" "$report"; }

# compare WHAT EXPECTED FOUND
compare() {
  [ "$2" = "$3" ] || differences+=("$profile: $1: the profile has \"$2\", verify-gpu found \"$3\"")
}

# The report beside the profile.
compare_all() {
  local file=$1 gpus bytes uuids
  gpus=$(grep -c '^ *- index:' "$file" || true)
  compare driver "$(value "$file" driver_version)" "$(sed -n 's/^  driver: //p' "$report")"
  compare GPUs "$gpus" "$(sentence nvmlDeviceGetCount_v2)"
  compare models "$(each "$gpus" "$(value "$file" name)")" "$(sentence nvmlDeviceGetName)"
  bytes=$(value "$file" total_bytes)
  compare memory "$(each "$gpus" "$((${bytes:-0} / 1048576)) MiB")" "$(sentence nvmlDeviceGetMemoryInfo)"
  # A report shows the first four digits only.
  uuids=$(sed -n 's/^ *uuid: *"\(GPU-....\).*/\1…/p' "$file")
  compare uuids "$(each "$gpus" "$uuids")" "$(sentence nvmlDeviceGetUUID)"
  grep -qxF -- "$(sentence 'Allocate, envvar')" <<<"$uuids" ||
    differences+=("$profile: Allocate, envvar: $(sentence 'Allocate, envvar') is no GPU of the profile")
}

# each COUNT TEXT: as a report writes it; the text has one line for all GPUs, or one for each.
each() {
  local index texts comma=
  mapfile -t texts <<<"$2"
  for ((index = 0; index < $1; index++)); do
    printf '%sGPU %d %s' "$comma" "$index" "${texts[index]:-${texts[0]}}"
    comma=", "
  done
}

# collect STATUS: what verify-gpu, which ended with it, calls failed, different or not available.
collect() {
  local line name
  while read -r line; do
    name=${line#* }
    name=${name#"${name%%[! ]*}"}
    case "${line%% *} $name" in
      "differs device nodes: "* | "failed spec: the plugin has written no spec "*) expected+=("$name") ;;
      *) differences+=("$profile: ${line%% *}: $name") ;;
    esac
  done < <(grep -E '^  (failed|differs) ' "$report" || true)
  mapfile -t -O ${#missing[@]} missing < <(sed -n 's/^  not available  \(nvml[^:]*\): .*/\1/p' "$report")
  # 1 is for a check that failed.
  [ "$1" -le 1 ] || differences+=("$profile: verify-gpu ended with $1")
}

# counted: lines that several profiles have, once.
counted() { sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\2 (profiles: \1)/'; }

# row DIFFERENCES: one row of the table; there were so many differences before this profile.
row() {
  local functions cells=() check
  functions=$(sed -n 's/^  failed  *\(nvml[^:]*\): .*/\1/p' "$report" | paste -sd ' ')
  for check in Register ListAndWatch "Allocate, "{envvar,volume-mounts,cdi-annotations,cdi-cri}; do
    cells+=("$(answer "$check")")
    [ -n "${cells[-1]}" ] || differences+=("$profile: $check: verify-gpu did not come to it")
  done
  printf '| %s | %s | %s |' "$profile" "$(sentence nvmlDeviceGetCount_v2)" "${functions:-none}"
  printf ' %s |' "${cells[@]:-}"
  echo " $((${#differences[@]} - $1)) |"
}

prepare_jdk
prepare_compiler
library=$(cached mock-nvml compile "$mock"/{Makefile,bridge,engine} "$mock/../../../go.sum" "$(uname -m)")
prepare_jars
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$root/target/mock-nvml
mkdir -p "$out"
# Settings of whoever runs this would change what the mock answers.
unset "${!MOCK_@}"
differences=()
expected=()
missing=()
echo "| profile | GPUs | functions that failed | Register | ListAndWatch | envvar | volume-mounts | cdi-annotations | cdi-cri | differences |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for profile in "${profiles[@]}"; do
  report=$out/$profile.txt
  file=$mock/configs/mock-nvml-config-$profile.yaml
  before=${#differences[@]}
  # The mock reads the profile that lies beside its own folder, so that the plugin's process has it, too.
  mkdir -p "$work/$profile"/{usr/lib64,config}
  name=libnvidia-ml.so.$(value "$file" driver_version)
  cp "$library/libnvidia-ml.so.1" "$work/$profile/usr/lib64/$name"
  ln -s "$name" "$work/$profile/usr/lib64/libnvidia-ml.so.1"
  cp "$file" "$work/$profile/config/config.yaml"
  status=0
  "$root/verify-gpu" --driver-root "$work/$profile" --seconds "${SAMPLE_SECONDS:-2}" --out "$out/$profile.json" >"$report" || status=$?
  compare_all "$file"
  collect "$status"
  row "$before"
done
echo
echo "Not available in the mock:"
printf '%s\n' "${missing[@]:-nothing}" | counted
echo
echo "Expected to differ, as the mock has no device nodes and no libcuda.so:"
printf '%s\n' "${expected[@]:-nothing}" | counted
echo
echo "Unexpected:"
printf '%s\n' "${differences[@]:-nothing}"
[ ${#differences[@]} -eq 0 ]
