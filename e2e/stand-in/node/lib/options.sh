# shellcheck shell=bash disable=SC2034 # the variables are read by the other parts
# K3s's options, as `--name=value` or `--name value`, and its environment.

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
  while [ $# -gt 0 ]; do
    option=$1
    shift
    case $option in
      --*=*) value=${option#*=} option=${option%%=*} ;;
      --*) [ $# -gt 0 ] || fail "option $option needs a value"; value=$1; shift ;;
      *) fail "unexpected argument: $option" ;;
    esac
    set_option "$option" "$value"
  done
}

set_option() {
  case $1 in
    --node-name) node_name=$2 ;;
    --node-ip) node_ip=$2 ;;
    --node-label) node_labels+=("$2") ;;
    --tls-san) tls_sans+=("$2") ;;
    --kube-apiserver-arg) apiserver_args+=("--$2") ;;
    --kube-controller-manager-arg) controller_args+=("--$2") ;;
    --kube-scheduler-arg) scheduler_args+=("--$2") ;;
    --kubelet-arg) kubelet_args+=("--$2") ;;
    --disable) ;; # none of the components that can be disabled is here
    *) fail "the stand-in does not know the option $1" ;;
  esac
}

comma_joined() {
  local IFS=,
  echo "$*"
}
