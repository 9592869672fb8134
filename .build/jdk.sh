#!/usr/bin/env bash
# Prints the home of a JDK 25 or newer: an installed one, else the distribution's, else Temurin with its
# checksum verified.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/apt.sh
. "$here/apt.sh"
oldest=25
cache=${TRANCHE_CACHE:-$HOME/.cache/tranche}/jdk
adoptium=${TRANCHE_ADOPTIUM:-https://api.adoptium.net/v3}

new_enough() {
  local feature
  [ -x "$1/bin/javac" ] && [ -x "$1/bin/jlink" ] && [ -r "$1/release" ] || return 1
  feature=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release")
  [ "${feature:-0}" -ge "$oldest" ]
}

installed() {
  local candidate javac
  javac=$(readlink -f "$(command -v javac || true)")
  for candidate in "${JAVA_HOME:-}" "${javac%/bin/javac}" /usr/lib/jvm/* /opt/java/* "$cache/temurin"; do
    if [ -n "$candidate" ] && new_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

packaged() {
  command -v apt-cache >/dev/null || return 1
  local package=openjdk-$oldest-jdk-headless
  [ -n "$(apt-cache search --names-only "^$package\$")" ] || [ "$(id -u)" != 0 ] || apt-get -qq update >&2 || return 1
  [ -n "$(apt-cache search --names-only "^$package\$")" ] || return 1
  need_packages "$package" >&2 && installed
}

temurin() {
  local arch described link sum work
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=aarch64 ;;
    *) return 1 ;;
  esac
  need_packages curl ca-certificates
  described=$(curl -fsSL -m 30 "$adoptium/assets/latest/$oldest/hotspot?architecture=$arch&image_type=jdk&os=linux&vendor=eclipse" | tr -d ' \n') || return 1
  link=$(sed -n 's/.*"package":{[^}]*"link":"\([^"]*\)".*/\1/p' <<<"$described")
  sum=$(sed -n 's/.*"package":{"checksum":"\([0-9a-f]*\)".*/\1/p' <<<"$described")
  [ -n "$link" ] && [ ${#sum} = 64 ] || return 1
  echo "downloading $(basename "$link")" >&2
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.temurin.XXXXXX")
  if ! curl -fsSL --retry 3 -o "$work/jdk.tar.gz" "$link" || ! echo "$sum  $work/jdk.tar.gz" | sha256sum -c --quiet >&2; then
    rm -rf "$work"
    echo "error: $link did not arrive with the checksum that its publisher names" >&2
    return 1
  fi
  mkdir "$work/jdk"
  tar -xzf "$work/jdk.tar.gz" -C "$work/jdk" --strip-components=1
  rm -rf "$cache/temurin"
  mv "$work/jdk" "$cache/temurin"
  rm -rf "$work"
  installed
}

installed || packaged || temurin || {
  echo "error: JDK $oldest or newer is needed and could not be had: install one (openjdk-$oldest-jdk-headless, or" \
    "Temurin $oldest from adoptium.net) and set JAVA_HOME, then run this command again" >&2
  exit 1
}
