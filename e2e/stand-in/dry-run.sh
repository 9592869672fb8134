#!/usr/bin/env bash
# dry-run.sh: builds a program of kube-scheduler's own filters and its dry run of a preemption, once, and prints the
# program's path. The Go API differs between releases, so it is always the tests' default Kubernetes version.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(KUBERNETES_VERSION='' "$here/../../.build/kubernetes-version.sh")
. "$here/../../.build/cache.sh"

compile() {
  GO=$("$here/../../.build/go.sh")
  export GO CGO_ENABLED=0 GOFLAGS=-mod=mod GOWORK=off
  mkdir "$1/sources"
  cp "$here/dry-run/main.go" "$1/sources"
  "$here/build/go-module.sh" "$version" >"$1/sources/go.mod"
  cd "$1/sources"
  "$GO" build -trimpath -ldflags "-s -w" -o "$1/dry-run" .
  cd "$1"
  rm -r sources
}

folder=$(cached "dry-run-$version" compile "$here/dry-run.sh" "$here/build/go-module.sh" "$here/build/other-patches" \
  "$here/dry-run")
echo "$folder/dry-run"
