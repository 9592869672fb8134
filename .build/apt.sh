# shellcheck shell=bash
# Sourced. Installs Debian packages, or says what to install.

# need_packages PACKAGE...: installs missing packages; fails with a message if it cannot.
need_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "error: missing: ${missing[*]}. Install these packages (on Debian or Ubuntu:" \
      "apt-get install ${missing[*]}), or run this command as root." >&2
    return 1
  fi
  echo "installing ${missing[*]}" >&2
  # Several of these commands may need packages at the same time, and apt-get update does not wait for a lock.
  local lock
  exec {lock}>"${TMPDIR:-/tmp}/tranche-apt.lock"
  flock "$lock"
  # Other programs may hold the package manager's lock.
  local options=(-o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends)
  DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install "${missing[@]}" >&2 2>/dev/null ||
    { apt-get -qq update >&2 &&
      DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install "${missing[@]}" >&2; }
  local status=$?
  # Unlock explicitly, since a process that a package has started may have inherited the lock.
  flock -u "$lock"
  exec {lock}>&-
  return $status
}
