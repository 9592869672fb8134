#!/usr/bin/env bash
# build.sh TAG: builds the one image of all parts from the jars of `./mvnw package`, and names it TAG.
# Needs JAVA_HOME (a JDK 25 or newer), a Docker engine, and make and a C compiler for the simulated NVML of the node plugin's training.
# It also needs the jars of e2e: they simulate the peers of the parts in their trainings, and one rewrites classes.
# VERSION, REVISION and SOURCE, if they are set, become labels of the image.
# A failed training ends the build: the image would work, but that part would start more slowly and take more memory.
set -euo pipefail
tag=${1:?usage: build.sh TAG}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$root/target/image
opt=$work/root/opt/tranche
base=debian:bookworm-slim
parts=(webhook extender node-plugin)

# The JDK modules that the parts and their libraries use. jdeps lists most of them; the others are loaded by name.
modules=java.base,java.logging,java.management,java.naming,java.net.http,java.security.sasl,java.xml,jdk.crypto.ec,jdk.management,jdk.net,jdk.unsupported

rm -rf "$work"
mkdir -p "$opt/lib" "$opt/etc"
"$JAVA_HOME/bin/jlink" --add-modules "$modules" --output "$opt/runtime" --strip-debug --no-header-files --no-man-pages --compress zip-0 2>/dev/null
# The cluster's own CA signs the API server's certificate, and pods get that CA. The public CAs would only take memory.
rm -f "$opt/runtime/lib/security/cacerts"

for part in "${parts[@]}"; do
  jar=$(find "$root/$part/target" -maxdepth 1 -name "tranche-$part-*.jar")
  [ -n "$jar" ] || { echo "error: $part has no jar; run ./mvnw package first" >&2; exit 1; }
  cp "$jar" "$opt/lib/"
  cp -n "$root/$part"/target/lib/*.jar "$opt/lib/"
  { cat "$root/deploy/image/$part.args"; printf -- '-jar\n/opt/tranche/lib/%s\n' "$(basename "$jar")"; } >"$opt/etc/$part.args"
done
# JNA's native library is unpacked here: a read-only root has no folder to unpack it into, and a temporary one may be noexec.
case $(uname -m) in aarch64) jna=linux-aarch64 ;; *) jna=linux-x86-64 ;; esac
mkdir "$opt/native"
(cd "$work" && "$JAVA_HOME/bin/jar" xf "$(find "$opt/lib" -name 'jna-5*.jar')" "com/sun/jna/$jna/libjnidispatch.so" && mv "com/sun/jna/$jna/libjnidispatch.so" "$opt/native/" && rm -r com)

"$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -cp "$root/e2e/target/lib/*" "$root/deploy/image/Store.java" "$opt/lib"
cp "$root/LICENSE" "$opt/"

# Keeps of the list of packages those whose files are here. Scanners read it in images without a package manager.
packages() {
  local list=$work/root/var/lib/dpkg/status
  [ -f "$list" ] || return 0
  mkdir "$list.d"
  awk -v RS= -v folder="$list.d" 'match($0, /^Package: (libc6|zlib1g|libgcc-s1|libstdc\+\+6|gcc-[0-9]+-base)\n/) {
    print > (folder "/" substr($0, 10, RLENGTH - 10))
  }' "$list"
  rm "$list"
}

# Copies the libraries that the Java runtime (zlib if its JDK is a distribution's), JNA, and the driver's libraries and programs link to.
# The folders are those of the distribution, by which container runtimes know where to put the driver.
c_library() {
  local container name
  local wanted=(bin sbin lib lib64 etc/debian_version etc/os-release usr/lib/os-release etc/ld.so.conf etc/ld.so.conf.d etc/ld.so.cache var/lib/dpkg/status)
  for name in 'ld-linux*.so*' 'libc.so.*' 'libm.so.*' 'libdl.so.*' 'libpthread.so.*' 'librt.so.*' 'libresolv.so.*' \
    'libnss_dns.so.*' 'libnss_files.so.*' 'libgcc_s.so.*' 'libstdc++.so.*' 'libz.so.*'; do
    wanted+=("usr/lib/*/$name" "usr/lib64/$name" "usr/lib/$name")
  done
  for name in libc6 zlib1g libgcc-s1 libstdc++6 'gcc-*-base'; do wanted+=("usr/share/doc/$name/copyright"); done
  container=$(docker create "$base" true)
  # Not every image has all of them.
  docker export "$container" | tar -C "$work/root" --wildcards --transform='s,^\./,,' -xf - "${wanted[@]}" "${wanted[@]/#/./}" 2>/dev/null || true
  docker rm "$container" >/dev/null
  [ -e "$(find "$work/root/usr/lib" -name 'libc.so.6')" ] || { echo "error: $base has no C library where Debian has it" >&2; exit 1; }
  packages
  mkdir -p "$work/root"/{tmp,run,etc}
  chmod 1777 "$work/root/tmp"
  echo 'hosts: files dns' >"$work/root/etc/nsswitch.conf"
  echo 'root:x:0:0:root:/:/sbin/nologin' >"$work/root/etc/passwd"
  echo 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin' >>"$work/root/etc/passwd"
  printf '%s:x:%s:\n' root 0 nonroot 65532 >"$work/root/etc/group"
}
c_library

cp "$root/deploy/image/Dockerfile" "$work/"
# The JVM refuses an AOT cache if the times of the jars differ, so all files get the same time. The engine's build cache is off, since it
# ignores the times of files.
labels=()
for label in VERSION REVISION SOURCE; do
  [ -z "${!label:-}" ] || labels+=(--label "org.opencontainers.image.${label,,}=${!label}")
done
image() {
  find "$work/root" -exec touch -h -d @1767225600 {} +
  docker build --no-cache -q "${labels[@]}" -t "$tag" "$work" >/dev/null 2>"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
}

# The caller must own the caches, and the socket that the fake kubelet calls. In a rootless engine, root is the caller.
case $(docker info -f '{{.SecurityOptions}}') in *name=rootless*) user=0:0 ;; *) user=$(id -u):$(id -g) ;; esac

node=$work/node
meeting=$work/meeting
simulated=(-v "$meeting:/training:ro" -v "$root/e2e/target:/e2e:ro" -v "$root/e2e/bench/target/classes:/bench:ro")

# train PART PROGRAM ARG [OPTION...]: starts the part in the image, has PROGRAM simulate its cluster in its container, with the runtime of the
# image, and stops it. The JVM then writes an AOT cache of loading and linking, by which the part starts in a fraction of the time. OPTIONs are
# for docker run.
train() {
  local flags=("-XX:AOTCacheOutput=/aot/$1.aot")
  # Profiles would take memory, and code that is compiled from training profiles is worse than code from real use.
  [ "$1" = node-plugin ] || flags+=(-XX:+UnlockDiagnosticVMOptions -XX:-AOTRecordTraining)
  container=$(docker run -d --user "$user" --network none --tmpfs /tmp:exec -v "$work/aot:/aot" -e NODE_NAME=training -e POD_NAMESPACE=training \
    -e FAIL_ON_INIT_ERROR=false -e TRANCHE_NODE_PLUGIN_SERVICE_ACCOUNT=training:training \
    "${@:4}" "$tag" /opt/tranche/runtime/bin/java "${flags[@]}" "@/opt/tranche/etc/$1.args")
  # Each training is a separate process, so this removes its container however it ends.
  trap 'docker rm -f "$container" >/dev/null 2>&1 || true' EXIT
  [ "$1" != node-plugin ] || wait "$kubelet" ||
    training_failed node-plugin "no GPU was registered in time: this machine is very busy, or the C library of $base is older than its own"
  # Wait for the first line of its log, which may take long on a busy machine.
  for _ in $(seq 300); do [ -z "$(docker logs "$container" 2>&1 | head -n 1)" ] || break; sleep 0.2; done
  timeout 300 docker exec "$container" /opt/tranche/runtime/bin/java -XX:TieredStopAtLevel=1 -cp '/bench:/e2e/classes:/e2e/lib/*' \
    "dev.tranche.e2e.bench.$2" /training/key.p12 training "$3" || training_failed "$1" "$2 ended with status $?"
  docker stop -t 300 "$container" >/dev/null
  [ -s "$work/aot/$1.aot" ] || training_failed "$1" "it left no cache"
}

# training_failed PART WHY
training_failed() {
  docker logs --tail 50 "$container" >&2 || true
  echo "error: the training of $1 has failed: $2" >&2
  exit 1
}

# The node plugin gets simulated GPUs, a simulated kubelet and, after the kubelet's calls, a simulated extender, whose
# stream uses TLS and HTTP/2.
train_node_plugin() {
  make -s -C "$root/e2e/fakenvml" OUT="$node/nvml" CC="${CC:-gcc}"
  "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 --enable-native-access=ALL-UNNAMED -cp "$root/e2e/bench/target/classes:$root/e2e/target/classes:$root/e2e/target/lib/*" \
    dev.tranche.e2e.bench.PluginTraining "$node" "$node/nvml/libnvidia-ml.so.1" &
  kubelet=$!
  for _ in $(seq 300); do [ ! -S "$node/device-plugins/kubelet.sock" ] || break; sleep 0.2; done
  # The engine would create a folder for each missing path.
  [ -S "$node/device-plugins/kubelet.sock" ] || { echo "error: the kubelet of the node plugin's training does not start" >&2; exit 1; }
  train node-plugin PluginStreamTraining 8445 --tmpfs /var/lib/tranche -e CONFIG_FILE=/config.yaml -e TRANCHE_EXTENDER_ADDRESS=localhost:8445 \
    -e TRANCHE_EXTENDER_CA_FILE=/training/ca.pem -e TRANCHE_EXTENDER_TOKEN_FILE=/training/token "${simulated[@]}" \
    -v "$node/config.yaml:/config.yaml:ro" -v "$node/driver:/driver-root:ro" \
    -v "$node/device-plugins:/var/lib/kubelet/device-plugins" -v "$node/pod-resources:/var/lib/kubelet/pod-resources"
}

# The webhook and the extender get a simulated API server. The webhook also gets reviews; the extender gets node plugins and a kube-scheduler.
make_key() {
  mkdir -p "$meeting"
  "$JAVA_HOME/bin/keytool" -genkeypair -alias training -keyalg EC -dname CN=training -ext san=ip:127.0.0.1,dns:localhost -validity 2 \
    -storetype PKCS12 -keystore "$meeting/key.p12" -storepass training 2>/dev/null
  "$JAVA_HOME/bin/keytool" -exportcert -rfc -alias training -keystore "$meeting/key.p12" -storepass training >"$meeting/ca.pem" 2>/dev/null
  chmod 644 "$meeting/key.p12"
  echo training >"$meeting/token"
}

with_api=("${simulated[@]}" -e KUBERNETES_MASTER=https://127.0.0.1:6443 -e KUBERNETES_CERTS_CA_FILE=/training/ca.pem)
image
mkdir -p "$work/aot" "$node"
make_key
train webhook webhook.WebhookTraining training "${with_api[@]}" & trainings=($!)
train extender training.ExtenderTraining training:training "${with_api[@]}" & trainings+=($!)
train_node_plugin & trainings+=($!)
# Wait for all trainings, so that no container is left after the build.
failed=0
for training in "${trainings[@]}"; do wait "$training" || failed=1; done
# Nobody may push an image without its caches.
[ "$failed" = 0 ] || { docker rmi -f "$tag" >/dev/null; exit 1; }
mv "$work/aot" "$opt/aot"
for part in "${parts[@]}"; do
  [ -s "$opt/aot/$part.aot" ]
  { printf -- '-XX:AOTCache=/opt/tranche/aot/%s.aot\n' "$part"; cat "$opt/etc/$part.args"; } >"$work/args"
  mv "$work/args" "$opt/etc/$part.args"
done
image
echo "$tag"
