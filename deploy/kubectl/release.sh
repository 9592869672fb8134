#!/usr/bin/env bash
# release.sh VERSION URL FOLDER: writes FOLDER/kubectl-tranche-VERSION.tar.gz and, for krew, FOLDER/tranche.yaml, which
# names the archive at URL/kubectl-tranche-VERSION.tar.gz. The same files make the same archive, byte by byte.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

version=${1:?usage: release.sh VERSION URL FOLDER}
url=${2%/}
folder=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/kubectl-tranche" "$here/kubectl_complete-tranche" "$here/../../LICENSE" "$work/"
sed -i "s/^version=.*/version=$version/" "$work/kubectl-tranche"

mkdir -p "$folder"
archive=kubectl-tranche-$version.tar.gz
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=a+rX,u+w,go-w --mtime=@0 -cf - LICENSE kubectl-tranche kubectl_complete-tranche |
  gzip -n9 >"$folder/$archive"
sum=$(sha256sum "$folder/$archive" | cut -d' ' -f1)
sed -e 1d -e "s|@VERSION@|$version|" -e "s|@URL@|$url/$archive|" -e "s|@SHA256@|$sum|" "$here/krew.yaml.in" >"$folder/tranche.yaml"
echo "$folder/$archive $folder/tranche.yaml"
