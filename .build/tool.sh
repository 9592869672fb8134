#!/usr/bin/env bash
# tool.sh NAME: prints the path of a program that the build needs. What is not installed is built or installed once.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/cache.sh"
. "$here/apt.sh"
name=${1:?usage: tool.sh NAME}

# go_program VERSION PACKAGE: from the Go module proxy.
go_program() {
  local folder package=$2@$1
  build() { go_install "$1" "$package"; }
  folder=$(cached "$name-$1" build)
  echo "$folder/$name"
}

# debian_program WORKS NAME PACKAGE...: installs the packages unless the program is there and works.
debian_program() {
  "$1" "$2" || { need_packages "${@:3}" >&2 && "$1" "$2"; } || {
    echo "error: there is no $2 that works here; install it and run this command again" >&2
    return 1
  }
  command -v "$2"
}

# Ubuntu's chromium is a script that asks for a snap.
starts() { "$1" --version >/dev/null 2>&1; }

# A compiler is useless without the C library's headers or its static archive.
links() {
  local out status=0
  out=$(mktemp)
  echo 'int main(void){return 0;}' | "$1" -static -include stdio.h -x c -o "$out" - 2>/dev/null || status=1
  rm -f "$out"
  return $status
}

# Prometheus and promtool are unpacked and not installed: installing the package would start a server.
unpack_prometheus() {
  local work
  work=$(mktemp -d)
  chmod 755 "$work"
  (cd "$work" && { apt-get -qq download prometheus || { apt-get -qq update && apt-get -qq download prometheus; }; }) >&2
  dpkg-deb -x "$work"/prometheus_*.deb "$work/tree"
  cp "$work/tree/usr/bin/prometheus" "$work/tree/usr/bin/promtool" "$1/"
  rm -rf "$work"
}

# NVIDIA's header is not committed.
copy_header() {
  local folder
  folder=$(go_module "$header")
  echo "92194e389cbebc379d5e3feff30c375fab47c761030131fe1f59af963983e5fc  $folder/gen/nvml/nvml.h" | sha256sum -c --quiet >&2
  install -m 644 "$folder/gen/nvml/nvml.h" "$1/"
}

case $name in
  actionlint) go_program v1.7.12 github.com/rhysd/actionlint/cmd/actionlint ;;
  crane) go_program v0.22.1 github.com/google/go-containerregistry/cmd/crane ;;
  helm) command -v helm || go_program v3.20.2 helm.sh/helm/v3/cmd/helm ;;
  # These need a newer Go than the one that builds the rest, so Go may fetch that one, whatever the distribution allows.
  cosign) GOTOOLCHAIN=auto go_program v3.1.3 github.com/sigstore/cosign/v3/cmd/cosign ;;
  trivy) GOEXPERIMENT=jsonv2 GOTOOLCHAIN=auto go_program v0.74.0 github.com/aquasecurity/trivy/cmd/trivy ;;
  shellcheck) debian_program starts shellcheck shellcheck ;;
  chromium)
    for browser in google-chrome chromium-browser chromium; do ! starts "$browser" || break; done
    debian_program starts "$browser" chromium
    ;;
  # make calls it.
  gcc)
    command -v make >/dev/null || need_packages make
    debian_program links "${CC:-gcc}" gcc libc6-dev
    ;;
  prometheus | promtool)
    command -v "$name" || {
      folder=$(cached prometheus unpack_prometheus prometheus promtool)
      echo "$folder/$name"
    }
    ;;
  nvml.h)
    header=github.com/NVIDIA/go-nvml@v0.13.4-1
    folder=$(cached nvml-header copy_header "$header")
    echo "$folder/nvml.h"
    ;;
  *) echo "error: tool.sh does not know \"$name\"" >&2; exit 2 ;;
esac
