# shellcheck shell=bash disable=SC2154,SC2034 # the parts share their variables
# Certificates. The authority's key is derived from the join token, so whoever holds the token has the
# same authority and can issue a certificate to itself: joining needs no round trip. (K3s's server
# token can do the same: it decrypts the cluster's authority.) A wrong token fails in TLS.

tls=$data/tls

make_authority() {
  mkdir -p "$tls"
  chmod 700 "$tls"
  local scalar der
  scalar=$(printf 'stand-in authority of %s' "$token" | sha256sum | cut -c1-64)
  # An ECPrivateKey of RFC 5915 on P-256 without its public half, which openssl computes.
  der=30310201010420${scalar}a00a06082a8648ce3d030107
  # shellcheck disable=SC2001 # no parameter expansion keeps what it matched
  printf '%b' "$(sed 's/../\\x&/g' <<<"$der")" |
    openssl ec -inform DER -out "$tls/ca.key" 2>/dev/null
  openssl req -x509 -new -key "$tls/ca.key" -subj "/CN=stand-in-ca" -days 3650 -out "$tls/ca.crt" \
    -addext keyUsage=critical,keyCertSign,cRLSign
}

# issue NAME SUBJECT [ALTERNATIVE_NAMES]: a key pair $tls/NAME.{key,crt} for clients and servers.
issue() {
  local name=$1 subject=$2 names=${3:-} extensions
  extensions="keyUsage=critical,digitalSignature
extendedKeyUsage=clientAuth,serverAuth"
  [ -z "$names" ] || extensions+=$'\n'"subjectAltName=$names"
  # In the form "EC PRIVATE KEY", as K3s's own: some clients read that form only.
  openssl ecparam -name prime256v1 -genkey -noout -out "$tls/$name.key"
  openssl req -new -key "$tls/$name.key" -subj "$subject" |
    openssl x509 -req -CA "$tls/ca.crt" -CAkey "$tls/ca.key" -set_serial "0x$(openssl rand -hex 16)" \
      -days 365 -extfile <(echo "$extensions") -out "$tls/$name.crt" 2>/dev/null
}

# alternative_names NAME_OR_ADDRESS...: in the form that a certificate request takes.
alternative_names() {
  local name names=()
  for name in "$@"; do
    if [[ $name =~ ^[0-9.]+$ || $name == *:* ]]; then names+=("IP:$name"); else names+=("DNS:$name"); fi
  done
  comma_joined "${names[@]}"
}

# kubeconfig NAME SERVER_URL: for the key pair of that name, everything inline.
kubeconfig() {
  cat <<YAML
apiVersion: v1
kind: Config
current-context: default
contexts: [{name: default, context: {cluster: default, user: default}}]
clusters: [{name: default, cluster: {server: "$2", certificate-authority-data: $(base64 -w0 "$tls/ca.crt")}}]
users: [{name: default, user: {client-certificate-data: $(base64 -w0 "$tls/$1.crt"), client-key-data: $(base64 -w0 "$tls/$1.key")}}]
YAML
}

# identify NAME SUBJECT SERVER_URL: a certificate and the kubeconfig $tls/NAME.yaml that uses it.
identify() {
  issue "$1" "$2"
  (umask 077 && kubeconfig "$1" "$3" >"$tls/$1.yaml")
}
