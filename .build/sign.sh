#!/usr/bin/env bash
# sign.sh FOLDER IMAGE: pushes the release in FOLDER to IMAGE's registry, signs image and chart without a key, attests the bills of
# materials, and makes the release on GitHub. It can be run again after a failure. It only runs in a workflow, whose identity is what signs.
# GITHUB_TOKEN is that of the workflow.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: sign.sh FOLDER IMAGE}
image=${2,,}
cosign=$("$here/tool.sh" cosign)
helm=$("$here/tool.sh" helm)
crane=$("$here/tool.sh" crane)
registry=${image%%/*}

"$helm" registry login "$registry" --username "${GITHUB_ACTOR:?}" --password-stdin <<<"${GITHUB_TOKEN:?}"
"$crane" auth login "$registry" --username "$GITHUB_ACTOR" --password-stdin <<<"$GITHUB_TOKEN"
pushed=$("$here/publish.sh" "$folder" "$image")
chart=$(basename "$folder"/tranche-[0-9]*.tgz .tgz)
version=${chart#tranche-}
chart=$image/charts/tranche@$("$crane" digest "$image/charts/tranche:$version")
"$cosign" sign --yes --recursive "$pushed"
"$cosign" sign --yes "$chart"
for arch in amd64 arm64; do
  of=$image@$("$crane" digest --platform "linux/$arch" "$pushed")
  "$cosign" attest --yes --type cyclonedx --predicate "$folder/tranche-$version-linux-$arch.cdx.json" "$of"
done
# The image is in the registry; its layout is for tools on this machine.
files=()
for file in "$folder"/*; do [ -d "$file" ] || files+=("$file"); done
prerelease=()
[[ $version != *-rc.* ]] || prerelease=(--prerelease)
if gh release view "v$version" >/dev/null 2>&1; then
  # An earlier run made it, and may have left it as a draft without all files.
  gh release upload "v$version" --clobber "${files[@]}"
  gh release edit "v$version" --draft=false "${prerelease[@]}"
else
  gh release create "v$version" --verify-tag --title "$version" --notes-file "$folder/release-notes.md" "${prerelease[@]}" "${files[@]}"
fi
echo "name=$image" >>"${GITHUB_OUTPUT:?}"
echo "digest=${pushed#*@}" >>"$GITHUB_OUTPUT"
