# shellcheck shell=bash
# Sourced before Java starts with Testcontainers, once the Docker engine answers. It contains the settings
# that Testcontainers reads only from environment variables.

# Clusters that are kept running (the demo's) are not cleaned up at exit.
export TESTCONTAINERS_REUSE_ENABLE=true

# Its cleaner is a separate image; without it, containers are removed when the Java process exits.
if ! "$(dirname "${BASH_SOURCE[0]}")/registry.sh" testcontainers/ryuk:0.14.0 2>/dev/null; then
  export TESTCONTAINERS_RYUK_DISABLED=true
fi

# Some machines have this file although the engine runs on the same machine. Testcontainers would assume
# that it runs in a container, and look for its host with images that do not exist here.
if [ -e /.dockerenv ] && pgrep -x dockerd >/dev/null; then
  export TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1 TESTCONTAINERS_CHECKS_DISABLE=true
fi
