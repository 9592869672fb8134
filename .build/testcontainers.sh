# shellcheck shell=bash
# Sourced by whatever starts Java with Testcontainers, when the Docker engine already answers: what
# Testcontainers can be told by environment variables only.

# Clusters that are kept running (the demo's) are not cleaned up at exit.
export TESTCONTAINERS_REUSE_ENABLE=true

# Its cleaner is an image of its own; without it containers are removed by the Java process's exit.
if ! "$(dirname "${BASH_SOURCE[0]}")/registry.sh" testcontainers/ryuk:0.14.0 2>/dev/null; then
  export TESTCONTAINERS_RYUK_DISABLED=true
fi

# Some machines have this file though the engine runs beside us: Testcontainers would take itself for a
# container and search for a way out of it with images that nobody has.
if [ -e /.dockerenv ] && pgrep -x dockerd >/dev/null; then
  export TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1 TESTCONTAINERS_CHECKS_DISABLE=true
fi
