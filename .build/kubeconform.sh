#!/usr/bin/env bash
# Prints a folder with the program `kubeconform` and its schemas, which it gets once from the Go module proxy:
# kubernetes.json (the API's own OpenAPI) and crds/ (of Karpenter, cert-manager and the Prometheus Operator).
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/cache.sh"
kubeconform=github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0
kubernetes=k8s.io/kubernetes@$("$here/kubernetes-version.sh")
karpenter=sigs.k8s.io/karpenter@v1.8.0
# The newest releases of the AWS provider are in no proxy; this one has the same v1 EC2NodeClass.
karpenter_aws=github.com/aws/karpenter-provider-aws@v1.6.3
cert_manager=github.com/cert-manager/cert-manager@v1.19.1
prometheus_operator=github.com/prometheus-operator/prometheus-operator@v0.85.0

# take MODULE FILE...: copies files of a module, whose checksum Go verifies.
take() {
  local module
  module=$(go_module "$1")
  (cd "$module" && install -m 644 -t "$into" "${@:2}")
}

build() {
  local into=$1
  go_install "$1" "$kubeconform"
  take "$kubernetes" api/openapi-spec/swagger.json
  mv "$1/swagger.json" "$1/kubernetes.json"
  into=$1/crds
  mkdir "$into"
  take "$karpenter" pkg/apis/crds/karpenter.sh_{nodepools,nodeoverlays}.yaml
  take "$karpenter_aws" pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml
  take "$cert_manager" deploy/crds/cert-manager.io_{certificates,issuers}.yaml
  take "$prometheus_operator" example/prometheus-operator-crd/monitoring.coreos.com_{servicemonitors,podmonitors,prometheusrules}.yaml
}

cached kubeconform build "${BASH_SOURCE[0]}" "$kubeconform" "$kubernetes" "$karpenter" "$karpenter_aws" "$cert_manager" "$prometheus_operator"
