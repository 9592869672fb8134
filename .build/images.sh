#!/usr/bin/env bash
# images.sh FOLDER: prints the images that a cluster pulls for the YAML files in FOLDER, one a line, for an air gap.
set -euo pipefail
echo "# The images that Tranche needs. kube-scheduler has the version of your cluster. With extender.mode=service it is not needed."
sed -n 's/^ *\(- \)\?image: *//p' "${1:?usage: images.sh FOLDER}"/*.yaml | tr -d '"' | sort -u
