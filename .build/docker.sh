#!/usr/bin/env bash
# Makes sure that a Docker engine answers. A running engine is not changed. Otherwise, as root on Debian
# or Ubuntu, the distribution's engine is installed and started. No systemd is needed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/apt.sh"
# What starts here stays, also a service of an installed package. It must not hold the steps, see progress.sh, nor a lock, see cache.sh.
exec 3>&- 4>&- 8>&-
state=${TRANCHE_CACHE:-$HOME/.cache/tranche}/docker

answers() { timeout 5 docker version >/dev/null 2>&1; }

fail() {
  echo "error: $*" >&2
  exit 1
}

start() {
  [ -z "${DOCKER_HOST:-}" ] || fail "no Docker engine answers at DOCKER_HOST=$DOCKER_HOST; start it or unset DOCKER_HOST"
  [ "$(id -u)" = 0 ] || fail "no Docker engine answers (or this user may not use it). Start Docker, add the user" \
    "to the group docker, or run this command as root: it then installs and starts one."
  # Two commands started at once must not start two engines.
  mkdir -p "$state"
  exec 9>"$state/lock"
  flock 9
  ! answers || return 0
  command -v dockerd >/dev/null || need_packages docker.io iptables 9>&-
  # The pid file of a killed engine prevents the next one from starting.
  kill -0 "$(cat /var/run/docker.pid 2>/dev/null)" 2>/dev/null || rm -f /var/run/docker.pid
  echo "starting dockerd (log: $state/dockerd.log)" >&2
  setsid nohup dockerd >>"$state/dockerd.log" 2>&1 </dev/null 9>&- &
  for _ in $(seq 300); do ! answers || return 0; sleep 0.2; done
  tail -n 20 "$state/dockerd.log" >&2
  fail "the Docker engine did not answer within 60 s; the end of its log is above"
}

# Some distributions have the client in a package of its own.
command -v docker >/dev/null || need_packages docker-cli || need_packages docker.io
answers || start
