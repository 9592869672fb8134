#!/usr/bin/env bash
# go-module.sh KUBERNETES_VERSION: prints a go.mod that takes Kubernetes' commands as a library, with the
# versions of everything else that this Kubernetes release was tested with (etcd's too).
set -euo pipefail
version=$1
other_patches=$(dirname "${BASH_SOURCE[0]}")/other-patches

# patch_of MODULE: the module's version of this release, or the one that stands for it.
patch_of() {
  awk -v release="$version" -v module="$1" -v patch="v0.${version#v1.}" \
    '$1 == release && $2 == module { patch = $3 } END { print patch }' "$other_patches"
}

# Kubernetes' own go.mod replaces its staging modules by folders of its repository; their published
# twins carry the same code.
mod=$("${GO:-go}" mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
echo "module tranche.dev/e2e/kube"
sed -n -e '/^go /p' -e '/^godebug /p' "$mod"
echo "require k8s.io/kubernetes $version"
sed -n 's|^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => \./staging/.*|\1|p' "$mod" | sort -u |
  while read -r staging; do echo "replace $staging => $staging $(patch_of "$staging")"; done
