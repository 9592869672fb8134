# shellcheck shell=bash disable=SC2154,SC2034 # the parts share their variables
# Pod network: every node routes 10.42.<last byte of its address>.0/24, so each node knows all routes
# from the start and no controller has to hand them out. Nodes share one Docker network.

pod_cidr=10.42.0.0/16
service_cidr=10.43.0.0/16
dns_ip=10.43.0.10

node_pod_cidr() {
  echo "10.42.${1##*.}.0/24"
}

set_up_network() {
  routes_to_peers | ip -force -batch - 2>/dev/null || true
  # Pods reach what is outside the cluster under their node's address.
  iptables -t nat -C POSTROUTING -s $pod_cidr ! -d $pod_cidr -j MASQUERADE 2>/dev/null ||
    iptables -t nat -A POSTROUTING -s $pod_cidr ! -d $pod_cidr -j MASQUERADE
  mkdir -p /etc/cni/net.d
  # ptp and not bridge: traffic between two pods of a node is then routed and passes the Service
  # rules without the br_netfilter module.
  cat >/etc/cni/net.d/10-pods.conflist <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": "$(node_pod_cidr "$node_ip")"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
JSON
}

routes_to_peers() {
  local last prefix=${node_ip%.*}
  for last in $(seq 1 254); do
    [ "$prefix.$last" = "$node_ip" ] || echo "route replace $(node_pod_cidr "$prefix.$last") via $prefix.$last"
  done
}

run_kube_proxy() {
  # Connection tracking limits belong to the host.
  supervise kube-proxy kube-proxy --kubeconfig="$tls/kube-proxy.yaml" --hostname-override="$node_name" \
    --cluster-cidr=$pod_cidr --proxy-mode=iptables --conntrack-max-per-core=0 \
    --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
}
