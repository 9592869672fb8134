#!/usr/bin/env bash
# Prints the path of a Go command that can build all Go parts of e2e: an installed one, else the distribution's, else
# the toolchain from the Go module proxy, with its checksum verified.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/apt.sh
. "$here/apt.sh"
# The newest version that any go.mod needs, since distributions do not let an older Go fetch a newer one.
oldest=1.25
pinned=go1.25.7
cache=${TRANCHE_CACHE:-$HOME/.cache/tranche}/go

new_enough() {
  local version
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  printf '%s\n' "$oldest" "${version#go}" | sort -C -V
}

installed() {
  local candidate
  for candidate in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go/bin/go "$cache/$pinned/bin/go"; do
    if [ -x "$candidate" ] && new_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# The distribution's Go, if it is new enough; `golang-1.25-go` and the like are not on the path.
packaged() {
  command -v apt-cache >/dev/null || return 1
  local version
  version=$(apt-cache policy golang-go | sed -n 's/.*Candidate: *\([0-9]*:\)\?\([0-9.]*\).*/\2/p')
  [ -n "$version" ] && printf '%s\n' "$oldest" "$version" | sort -C -V || return 1
  need_packages golang-go >&2 && installed
}

proxies() {
  local list=${GOPROXY:-https://proxy.golang.org}
  tr -s ',|' '\n' <<<"$list" | grep '^https\?://' || echo https://proxy.golang.org
}

download() {
  local arch sum
  case $(uname -m) in
    x86_64) arch=amd64 sum=43a6a44615934ab4533b010735fc39757accc93f421ffafa67a34f73c5703e7b ;;
    *) echo "error: install Go $oldest or newer: none is pinned for $(uname -m)" >&2; return 1 ;;
  esac
  need_packages unzip curl ca-certificates
  mkdir -p "$cache"
  local zip work proxy module=golang.org/toolchain@v0.0.1-$pinned.linux-$arch
  work=$(mktemp -d "$cache/.$pinned.XXXXXX")
  zip=$work/go.zip
  while read -r proxy; do
    echo "downloading $pinned" >&2
    curl -fsSL --retry 3 -o "$zip" "${proxy%/}/${module/@//@v/}.zip" && break
  done < <(proxies)
  if ! echo "$sum  $zip" | sha256sum -c --quiet >&2; then
    rm -rf "$work"
    echo "error: no Go module proxy gave $module with its pinned checksum; install Go $oldest or newer" >&2
    return 1
  fi
  unzip -q "$zip" -d "$work"
  # A module zip carries no execute bits.
  chmod -R +x "$work/$module/bin" "$work/$module/pkg/tool"
  rm -rf "${cache:?}/$pinned"
  mv "$work/$module" "$cache/$pinned"
  rm -rf "$work"
  echo "$cache/$pinned/bin/go"
}

installed || packaged || download
