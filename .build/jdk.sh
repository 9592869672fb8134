#!/usr/bin/env bash
# Prints the home of a JDK 25 or newer: an installed one, else the distribution's, else Temurin with its
# checksum verified.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/cache.sh"
. "$here/apt.sh"
oldest=25

new_enough() {
  local feature
  [ -x "$1/bin/javac" ] && [ -x "$1/bin/jlink" ] && [ -r "$1/release" ] || return 1
  feature=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release")
  [ "${feature:-0}" -ge "$oldest" ]
}

installed() {
  local candidate javac
  javac=$(readlink -f "$(command -v javac || true)")
  for candidate in "${JAVA_HOME:-}" "${javac%/bin/javac}" /usr/lib/jvm/* /opt/java/* "$cache"/temurin-*; do
    if [ -n "$candidate" ] && new_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

packaged() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && need_packages openjdk-$oldest-jdk-headless >&2 && installed
}

temurin() {
  local arch described link sum
  case $(uname -m) in x86_64) arch=x64 ;; *) arch=$(uname -m) ;; esac
  need_packages curl ca-certificates
  described=$(curl -fsSL -m 30 "https://api.adoptium.net/v3/assets/latest/$oldest/hotspot?architecture=$arch&image_type=jdk&os=linux&vendor=eclipse" | tr -d ' \n') || true
  link=$(sed -n 's/.*"package":{[^}]*"link":"\([^"]*\)".*/\1/p' <<<"$described")
  sum=$(sed -n 's/.*"package":{"checksum":"\([0-9a-f]*\)".*/\1/p' <<<"$described")
  if [ ${#sum} != 64 ] || ! fetch "$link" "$sum" "$1/jdk.tar.gz"; then
    echo "error: JDK $oldest or newer is needed and could not be had: install one (openjdk-$oldest-jdk-headless, or" \
      "Temurin $oldest from adoptium.net) and set JAVA_HOME, then run this command again" >&2
    return 1
  fi
  tar -xzf "$1/jdk.tar.gz" -C "$1" --strip-components=1
  rm "$1/jdk.tar.gz"
}

if installed || packaged; then exit; fi
cached "temurin-$oldest" temurin
