# shellcheck shell=bash disable=SC2154,SC2034 # the parts share their variables
# The node's own components, the same on the server and on agents.

# prepare_node: all that does not need the API server, while that one starts.
prepare_node() {
  run_containerd
  issue kubelet-serving "/O=system:nodes/CN=system:node:$node_name" "$(alternative_names "$node_name" "$node_ip")"
  identify kubelet "/O=system:nodes/CN=system:node:$node_name" "$server_url"
  identify kube-proxy "/CN=system:kube-proxy" "$server_url"
  set_up_network
  import_images
}

run_node() {
  kubelet_config >/etc/rancher/k3s/kubelet.yaml
  # The engine's own resolver answers on this container's loopback only.
  echo "nameserver $dns_ip" >/etc/rancher/k3s/resolv.conf
  supervise kubelet kubelet --config=/etc/rancher/k3s/kubelet.yaml --kubeconfig="$tls/kubelet.yaml" \
    --hostname-override="$node_name" --node-ip="$node_ip" \
    --node-labels="$(comma_joined "${node_labels[@]}")" "${kubelet_args[@]}"
  run_kube_proxy
}

kubelet_config() {
  cat <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $tls/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: $tls/kubelet-serving.crt
tlsPrivateKeyFile: $tls/kubelet-serving.key
cgroupDriver: cgroupfs
failSwapOn: false
failCgroupV1: false
containerRuntimeEndpoint: unix://$containerd_socket
clusterDNS: [$dns_ip]
clusterDomain: cluster.local
resolvConf: /etc/rancher/k3s/resolv.conf
serializeImagePulls: false
# The disk is the host's: its filling up is no news for a test.
imageGCHighThresholdPercent: 100
evictionHard: {imagefs.available: "1%", nodefs.available: "1%"}
YAML
  quick_restarts
}

# A container that is killed several times waits for up to five minutes, unless the kubelet may be told otherwise.
quick_restarts() {
  local minor
  minor=$(kubelet --version | sed -n 's/^Kubernetes v1\.\([0-9]*\)\..*/\1/p')
  if [ "$minor" -ge 35 ]; then
    echo 'crashLoopBackOff: {maxContainerRestartPeriod: 2s}'
  fi
}

server_answers() {
  curl -sf -m 5 --cacert "$tls/ca.crt" --cert "$tls/kubelet.crt" --key "$tls/kubelet.key" "$server_url/readyz"
}

run_agent() {
  make_authority
  prepare_node
  # A kubelet that finds no server backs off for seconds: start it when there is one.
  wait_until 300 "the server $server_url (is the token right?)" containerd server_answers
  run_node
}
