#!/usr/bin/env bash
# Prints the path of shellcheck.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/apt.sh
. "$here/apt.sh"
command -v shellcheck || {
  need_packages shellcheck
  command -v shellcheck
}
