# shellcheck shell=bash disable=SC2034 # the variables are read by the other parts
# K3s's options, as `--name=value`, and its environment.

fail() {
  echo "error: $*" >&2
  exit 1
}

token=${K3S_TOKEN:-}
server_url=${K3S_URL:-}
node_name=${K3S_NODE_NAME:-$(hostname)}
node_ip=$(hostname -i | awk '{print $1}')
tls_sans=()
node_labels=()
apiserver_args=()
controller_args=()
scheduler_args=()
kubelet_args=()

parse_options() {
  local option value
  for option in "$@"; do
    value=${option#*=}
    case $option in
      --node-name=*) node_name=$value ;;
      --node-ip=*) node_ip=$value ;;
      --node-label=*) node_labels+=("$value") ;;
      --tls-san=*) tls_sans+=("$value") ;;
      --kube-apiserver-arg=*) apiserver_args+=("--$value") ;;
      --kube-controller-manager-arg=*) controller_args+=("--$value") ;;
      --kube-scheduler-arg=*) scheduler_args+=("--$value") ;;
      --kubelet-arg=*) kubelet_args+=("--$value") ;;
      --disable=*) ;; # none of the components that can be disabled is here
      *) fail "the stand-in does not know the option $option" ;;
    esac
  done
}

comma_joined() {
  local IFS=,
  echo "$*"
}
