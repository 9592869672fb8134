#!/usr/bin/env bash
# publish.sh FOLDER IMAGE: pushes the release in FOLDER: its image as IMAGE with the version as its tag, and its chart to IMAGE's registry
# below charts/. Prints IMAGE@DIGEST. Whoever calls it has logged in, by `helm registry login` or `docker login`.
# What the registry has already is not pushed again, so that it can be run again after a failure.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: publish.sh FOLDER IMAGE}
image=$2
crane=$("$here/tool.sh" crane)
helm=$("$here/tool.sh" helm)

# A registry on this machine has no certificate.
plain=()
case $image in localhost:* | 127.0.0.1:*) plain=(--plain-http) ;; esac

(cd "$folder" && sha256sum --quiet -c SHA256SUMS)
charts=("$folder"/tranche-[0-9]*.tgz)
[ ${#charts[@]} = 1 ] || { echo "error: $folder has ${#charts[@]} charts" >&2; exit 1; }
version=$(basename "${charts[0]}" .tgz)
version=${version#tranche-}

# A version is published once. Another image or chart under the same tag would be one that nobody has tried.
published_already() {
  echo "error: another $1 is published already; release a new version" >&2
  exit 1
}

errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# look_up digest|manifest REFERENCE: prints nothing if the registry does not have it. Any other failure ends this script: without an answer nobody
# knows what is published. GitHub's registry says DENIED of a package that does not exist; who may not read one may not push it either.
look_up() {
  "$crane" "$1" "$2" 2>"$errors" || grep -q -e MANIFEST_UNKNOWN -e NAME_UNKNOWN -e 'status code 404' -e DENIED "$errors" || {
    cat "$errors" >&2
    echo "error: $2 cannot be looked up, so nothing is pushed; try again when the registry answers" >&2
    exit 1
  }
}

digest=$(grep -o 'sha256:[0-9a-f]\{64\}' "$folder/image/index.json")
found=$(look_up digest "$image:$version")
[ -z "$found" ] || [ "$found" = "$digest" ] || published_already "$image:$version"
# The chart's manifest also has the time of the file.
chart=$image/charts/tranche:$version
layer=$(sha256sum "${charts[0]}" | cut -d ' ' -f 1)
manifest=$(look_up manifest "$chart")
[ -z "$manifest" ] || [[ $manifest = *"sha256:$layer"* ]] || published_already "$chart"

[ -n "$found" ] || "$crane" push "$folder/image" "$image:$version" >&2
[ -n "$manifest" ] || "$helm" push "${plain[@]}" "${charts[0]}" "oci://$image/charts" >&2
echo "$image@$digest"
