#!/usr/bin/env bash
# scan.sh FOLDER: looks for known vulnerabilities in the image of the release in FOLDER. It fails on each that has a fix.
set -euo pipefail
trivy=$("$(dirname "${BASH_SOURCE[0]}")/tool.sh" trivy)
"$trivy" image --input "${1:?usage: scan.sh FOLDER}/image" --scanners vuln --ignore-unfixed --exit-code 1
