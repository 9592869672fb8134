# shellcheck shell=bash
# Sourced. Installs Debian packages, or says what to install.

# apt_get WORD...: one at a time, since apt-get update does not wait for a lock, but install does. What a package starts must not keep the lock.
apt_get() {
  DEBIAN_FRONTEND=noninteractive flock -o "${TMPDIR:-/tmp}/tranche-apt.lock" \
    apt-get -o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends "$@" >&2
}

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
  apt_get install "${missing[@]}" 2>/dev/null || { apt_get update && apt_get install "${missing[@]}"; }
}
