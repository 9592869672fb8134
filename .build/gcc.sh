#!/usr/bin/env bash
# Prints the path of a C compiler that can link statically, and makes sure that make is installed, which calls it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/apt.sh
. "$here/apt.sh"

# Tests both, since a compiler is useless without the C library's headers or its static archive.
links() {
  local out
  out=$(mktemp)
  echo 'int main(void){return 0;}' | "$1" -static -include stdio.h -x c -o "$out" - 2>/dev/null
  local status=$?
  rm -f "$out"
  return $status
}

compiler=${CC:-gcc}
links "$compiler" || { need_packages gcc libc6-dev && links "$compiler"; } || {
  echo "error: $compiler cannot build a static program; install gcc and the C library's static archive" >&2
  exit 1
}
command -v make >/dev/null || need_packages make
command -v "$compiler"
