#!/usr/bin/env bash
# kube.sh FOLDER: Kubernetes and etcd as static programs.
set -euo pipefail
out=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=${KUBERNETES_VERSION:?}
GO=$("$here/../../.build/go.sh")
export GO CGO_ENABLED=0 GOFLAGS=-mod=mod GOWORK=off

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here/kube" "$here/etcd" "$here/scheduler" "$work"
"$here/build/go-module.sh" "$version" >"$work/go.mod"

# `kubectl version` and a node's kubeletVersion come from here.
stamps="-s -w"
IFS=. read -r major minor _ <<<"${version#v}"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  stamps+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
  stamps+=" -X $package.gitTreeState=clean"
done

cd "$work"
for program in etcd kube scheduler; do
  echo "compiling $program ($version; minutes when it is the first time)"
  "$GO" build -trimpath -ldflags "$stamps" -o "$out/$program" "./$program"
done
