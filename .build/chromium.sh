#!/usr/bin/env bash
# Prints the path of a Chromium for the web page's tests: an installed one, else the distribution's.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/apt.sh
. "$here/apt.sh"

# A browser counts only if it starts, since Ubuntu's package is a script that asks for a snap.
found() {
  local browser
  for browser in chromium chromium-browser google-chrome; do
    if "$browser" --version >/dev/null 2>&1; then
      command -v "$browser"
      return
    fi
  done
  return 1
}

found || { need_packages chromium >&2 && found; } || {
  echo "error: no Chromium that starts. Install Google Chrome, or a Chromium that is no snap" >&2
  exit 1
}
