#!/usr/bin/env bash
# Prints the path of a Chromium for the web page's tests: found, else the distribution's.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/apt.sh
. "$here/apt.sh"

found() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

found || { need_packages chromium >&2 && found; }
