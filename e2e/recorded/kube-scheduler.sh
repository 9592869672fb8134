#!/usr/bin/env bash
# kube-scheduler.sh FOLDER: the stock kube-scheduler of $KUBERNETES_VERSION as a static program, and nothing else of that
# release: the stand-in has an API server already.
set -euo pipefail
out=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=${KUBERNETES_VERSION:?}
GO=$("$here/../.build/go.sh")
export GO CGO_ENABLED=0 GOFLAGS=-mod=mod GOWORK=off

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here/stand-in/scheduler" "$work"
"$here/stand-in/build/go-module.sh" "$version" >"$work/go.mod.new"
mv "$work/go.mod.new" "$work/go.mod"
IFS=. read -r major minor _ <<<"${version#v}"
stamp=k8s.io/component-base/version
cd "$work"
echo "compiling kube-scheduler ($version; minutes)"
"$GO" build -trimpath -o "$out/kube-scheduler" \
  -ldflags "-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor" ./scheduler
