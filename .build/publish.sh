#!/usr/bin/env bash
# publish.sh FOLDER IMAGE: pushes the release in FOLDER: its image as IMAGE with the version as its tag, and its chart to IMAGE's registry
# below charts/. Prints IMAGE@DIGEST. Whoever calls it has logged in, by `helm registry login` or `docker login`.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# = 2 ] || {
  sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
folder=$1
image=$2
crane=$("$here/crane.sh")
helm=$("$here/helm.sh")

# A registry on this machine has no certificate.
plain=()
case $image in localhost:* | 127.0.0.1:*) plain=(--plain-http) ;; esac

(cd "$folder" && sha256sum --quiet -c SHA256SUMS)
charts=("$folder"/tranche-[0-9]*.tgz)
[ ${#charts[@]} = 1 ] || { echo "error: $folder has ${#charts[@]} charts" >&2; exit 1; }
version=$(basename "${charts[0]}" .tgz)
version=${version#tranche-}
# A version is published once. Another image under the same tag would be one that nobody has tried.
if "$crane" digest "$image:$version" >/dev/null 2>&1; then
  echo "error: $image:$version is published already; release a new version" >&2
  exit 1
fi
pushed=$("$crane" push "$folder/image" "$image:$version")
"$helm" push "${plain[@]}" "${charts[0]}" "oci://$image/charts" >&2
echo "$pushed"
