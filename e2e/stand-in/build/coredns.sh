#!/usr/bin/env bash
# coredns.sh FOLDER: CoreDNS as a static program.
set -euo pipefail
out=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
GO=$("$here/../../.build/go.sh")
cd "$here/coredns"
CGO_ENABLED=0 GOWORK=off "$GO" build -mod=readonly -trimpath -ldflags "-s -w" -o "$out/coredns" .
