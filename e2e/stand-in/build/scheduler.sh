#!/usr/bin/env bash
# scheduler.sh FOLDER: FOLDER/image.tar, the stock kube-scheduler under its public name, its program where
# the public image has it.
set -euo pipefail
out=$1
image=registry.k8s.io/kube-scheduler:${KUBERNETES_VERSION:?}
# Helm hides from a chart that a version is an early one, such as v1.38.0-alpha.0: the chart then takes the release's image.
release=registry.k8s.io/kube-scheduler:${KUBERNETES_VERSION%%-*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work"/{usr/local/bin,tmp}
chmod 1777 "$work/tmp"
cp "${KUBE:?}/scheduler" "$work/usr/local/bin/kube-scheduler"
tar -C "$work" -cf - . | docker import --change 'ENV PATH=/usr/local/bin' - "$image" >/dev/null
docker tag "$image" "$release"
docker save -o "$out/image.tar" "$image" "$release"
