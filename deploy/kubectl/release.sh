#!/usr/bin/env bash
# release.sh VERSION URL FOLDER: writes FOLDER/kubectl-tranche-VERSION.tar.gz and, for krew, FOLDER/tranche.yaml, which
# names the archive at URL/kubectl-tranche-VERSION.tar.gz. The same files make the same archive, byte by byte.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

version=${1:?usage: release.sh VERSION URL FOLDER}
url=${2%/}
folder=$3
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || {
  echo "error: the version is \"$version\"; allowed: three numbers, such as 1.2.3 or 1.2.3-rc.1" >&2
  exit 2
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s/^version=.*/version=$version/" "$here/kubectl-tranche" >"$work/kubectl-tranche"
cp "$here/kubectl_complete-tranche" "$here/../../LICENSE" "$work/"
chmod 755 "$work/kubectl-tranche" "$work/kubectl_complete-tranche"
chmod 644 "$work/LICENSE"

mkdir -p "$folder"
archive=kubectl-tranche-$version.tar.gz
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - LICENSE kubectl-tranche kubectl_complete-tranche |
  gzip -n9 >"$folder/$archive"
sum=$(sha256sum "$folder/$archive" | cut -d' ' -f1)
sed -e 1d -e "s|@VERSION@|$version|" -e "s|@URL@|$url/$archive|" -e "s|@SHA256@|$sum|" "$here/krew.yaml.in" >"$folder/tranche.yaml"
echo "$folder/$archive $folder/tranche.yaml"
