#!/usr/bin/env bash
# scan.sh FOLDER: looks for known vulnerabilities in the image of the release in FOLDER. It fails on each that has a fix.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
folder=${1:?usage: scan.sh FOLDER}
version=v0.74.0

# It needs a newer Go than the one that builds the rest, so Go may fetch that one, whatever the distribution allows. It also needs an
# experiment of Go.
# build FOLDER: shellcheck cannot see that cached() calls it.
# shellcheck disable=SC2317,SC2329
build() { GOEXPERIMENT=jsonv2 GOTOOLCHAIN=auto go_install "$1" "github.com/aquasecurity/trivy/cmd/trivy@$version"; }

trivy=$(cached "trivy-$version" build)/trivy
"$trivy" image --input "$folder/image" --scanners vuln --ignore-unfixed --exit-code 1
