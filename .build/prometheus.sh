#!/usr/bin/env bash
# Prints the path of Prometheus's server.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/cache.sh
. "$here/cache.sh"
# shellcheck source=SCRIPTDIR/prometheus-package.sh
. "$here/prometheus-package.sh"
prometheus_program prometheus
