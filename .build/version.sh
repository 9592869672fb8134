#!/usr/bin/env bash
# version.sh sources: prints the version of the sources, such as 1.2.3, or 1.2.3-SNAPSHOT before it is released.
# version.sh set VERSION: writes it to every file that has it. The first pom.xml is the one place that it is read from.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sources() { sed -n 's#^  <version>\(.*\)</version>$#\1#p' pom.xml | head -n 1; }

set_version() {
  local old new=$1 of
  [[ $new =~ ^[0-9]+\.[0-9]+\.[0-9]+(-rc\.[0-9]+)?(-SNAPSHOT)?$ ]] ||
    { echo "error: the version is \"$new\"; allowed: three numbers, such as 1.2.3, 1.2.3-rc.1 or 1.2.3-SNAPSHOT" >&2; exit 2; }
  old=$(sources)
  of=${old%-SNAPSHOT}
  of=${of//./\\.}
  git ls-files '*pom.xml' | xargs sed -i "s#<version>${old//./\\.}</version>#<version>$new</version>#"
  new=${new%-SNAPSHOT}
  sed -i -e "s/^version: .*/version: $new/" -e "s/^appVersion: .*/appVersion: $new/" -e "s#tranche:$of\b#tranche:$new#" charts/tranche/Chart.yaml
  sed -i "s/^version=.*/version=$new/" deploy/kubectl/kubectl-tranche
  # Beside the image's name only: other programs have versions of their own.
  git ls-files 'deploy/*.yaml' 'docs/*.md' README.md |
    xargs sed -i -e "s#tranche:$of\b#tranche:$new#g" -e "s#image\.tag=$of\b#image.tag=$new#g" -e "s#^    newTag: .*#    newTag: \"$new\"#"
}

case ${1:-} in
  sources) sources ;;
  set) set_version "${2:-}" ;;
  *)
    sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
