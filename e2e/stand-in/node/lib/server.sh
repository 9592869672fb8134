# shellcheck shell=bash disable=SC2154,SC2034 # the parts share their variables
# The control plane, and the server's own node.

run_server() {
  server_url=https://127.0.0.1:6443
  [ -n "$token" ] || token=$(saved_token)
  make_authority
  run_etcd
  run_apiserver
  prepare_node
  identify admin "/O=system:masters/CN=system:admin" "$server_url"
  wait_until 120 "the API server" kube-apiserver server_answers
  run_controllers
  run_node
  apply_addons
  run_dns
  install -m 600 "$tls/admin.yaml" /etc/rancher/k3s/k3s.yaml
  # What Testcontainers waits for.
  echo "Node controller sync successful"
}

saved_token() {
  [ -s "$data/node-token" ] || (umask 077 && openssl rand -hex 16 >"$data/node-token")
  cat "$data/node-token"
}

run_etcd() {
  # A test cluster's data need not survive a power cut.
  supervise etcd etcd --data-dir="$data/etcd" --log-level=warn --unsafe-no-fsync \
    --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379
}

run_apiserver() {
  local services=kubernetes.default.svc
  issue kube-apiserver /CN=kube-apiserver "$(alternative_names localhost 127.0.0.1 10.43.0.1 "$node_ip" \
    "$(hostname)" "$node_name" kubernetes kubernetes.default $services $services.cluster.local "${tls_sans[@]}")"
  issue kubelet-client "/O=system:masters/CN=kube-apiserver-kubelet-client"
  issue front-proxy /CN=front-proxy
  [ -s "$tls/service-account.key" ] || openssl genpkey -algorithm RSA -out "$tls/service-account.key" 2>/dev/null
  supervise kube-apiserver kube-apiserver \
    --etcd-servers=http://127.0.0.1:2379 --advertise-address="$node_ip" --secure-port=6443 \
    --tls-cert-file="$tls/kube-apiserver.crt" --tls-private-key-file="$tls/kube-apiserver.key" \
    --client-ca-file="$tls/ca.crt" --kubelet-certificate-authority="$tls/ca.crt" \
    --kubelet-client-certificate="$tls/kubelet-client.crt" --kubelet-client-key="$tls/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP,Hostname \
    --requestheader-client-ca-file="$tls/ca.crt" --requestheader-allowed-names=front-proxy \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$tls/front-proxy.crt" --proxy-client-key-file="$tls/front-proxy.key" \
    --service-account-issuer=https://$services.cluster.local \
    --service-account-key-file="$tls/service-account.key" \
    --service-account-signing-key-file="$tls/service-account.key" \
    --service-cluster-ip-range="$service_cidr" --authorization-mode=Node,RBAC \
    --enable-admission-plugins=NodeRestriction --allow-privileged=true "${apiserver_args[@]}"
}

run_controllers() {
  # With the default rate of requests its many controllers take five seconds to start.
  identify controller-manager /CN=system:kube-controller-manager "$server_url"
  identify scheduler /CN=system:kube-scheduler "$server_url"
  run_as kube-controller-manager "$tls/controller-manager.yaml" \
    --service-account-private-key-file="$tls/service-account.key" --root-ca-file="$tls/ca.crt" \
    --cluster-signing-cert-file="$tls/ca.crt" --cluster-signing-key-file="$tls/ca.key" \
    --use-service-account-credentials=true --kube-api-qps=500 --kube-api-burst=500 "${controller_args[@]}"
  # Where a configuration file that is written for K3s looks for it.
  mkdir -p "$data/server/cred"
  ln -sf "$tls/scheduler.yaml" "$data/server/cred/scheduler.kubeconfig"
  run_as kube-scheduler "$tls/scheduler.yaml" "${scheduler_args[@]}"
}

# run_as COMPONENT KUBECONFIG OPTION...
run_as() {
  supervise "$1" "$1" --kubeconfig="$2" --authentication-kubeconfig="$2" --authorization-kubeconfig="$2" \
    --leader-elect=false "${@:3}"
}

apply_addons() {
  sed -e "s/@DNS_IP@/$dns_ip/" -e "s/@NODE_IP@/$node_ip/" "$lib/addons.yaml" >"$data/addons.yaml"
  wait_until 60 "the cluster's own objects to be accepted" kube-apiserver \
    kubectl --kubeconfig "$tls/admin.yaml" apply --server-side --force-conflicts --validate=false -f "$data/addons.yaml"
}

# Cluster DNS runs on the server's node itself and not in a pod: nothing to schedule, nothing to unpack.
run_dns() {
  identify coredns /CN=system:coredns "$server_url"
  cat >"$data/Corefile" <<CONF
.:53 {
  bind $node_ip
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig $tls/coredns.yaml default
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
    ttl 5
  }
  forward . /etc/resolv.conf
  cache 5
  loadbalance
}
CONF
  supervise coredns coredns -conf "$data/Corefile"
}
