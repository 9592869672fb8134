#!/usr/bin/env bash
# build.sh TAG: makes the one image of all parts from the jars that `./mvnw package` left, and names it TAG.
# Needs JAVA_HOME (a JDK 25 or newer) and a Docker engine. BASE chooses another base image with a C library.
set -euo pipefail
tag=${1:?usage: build.sh TAG}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$root/target/image
opt=$work/opt/tranche
parts=(webhook extender node-plugin)

# What the parts and their libraries use; jdeps lists most, the others are loaded by name.
modules=java.base,java.logging,java.management,java.naming,java.net.http,java.security.sasl,java.xml,jdk.crypto.ec,jdk.management,jdk.net,jdk.unsupported

rm -rf "$work"
mkdir -p "$opt/lib" "$opt/etc"
"$JAVA_HOME/bin/jlink" --add-modules "$modules" --output "$opt/runtime" --strip-debug --no-header-files --no-man-pages --compress zip-0 2>/dev/null

for part in "${parts[@]}"; do
  jar=$(find "$root/$part/target" -maxdepth 1 -name "tranche-$part-*.jar")
  [ -n "$jar" ] || { echo "error: $part has no jar; run ./mvnw package first" >&2; exit 1; }
  cp "$jar" "$opt/lib/"
  cp -n "$root/$part"/target/lib/*.jar "$opt/lib/"
  { cat "$root/deploy/image/$part.args"; printf -- '-jar\n/opt/tranche/lib/%s\n' "$(basename "$jar")"; } >"$opt/etc/$part.args"
done
# JNA's own library lies unpacked: a read-only root has no folder to unpack it into, and a temporary one may forbid programs.
case $(uname -m) in aarch64) jna=linux-aarch64 ;; *) jna=linux-x86-64 ;; esac
mkdir "$opt/native"
(cd "$work" && "$JAVA_HOME/bin/jar" xf "$(find "$opt/lib" -name 'jna-5*.jar')" "com/sun/jna/$jna/libjnidispatch.so" && mv "com/sun/jna/$jna/libjnidispatch.so" "$opt/native/" && rm -r com)

cp "$root/deploy/image/logging.properties" "$opt/etc/"
cp "$root/LICENSE" "$opt/"

cp "$root/deploy/image/Dockerfile" "$work/"
image() {
  docker build -q -t "$tag" ${BASE:+--build-arg "BASE=$BASE"} "$work" >/dev/null 2>"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
}

# train PART: starts it in the image, where it finds no cluster, stops it after a while, and keeps what the JVM has learnt of
# loading and linking: a part then starts in a fraction of the time.
train() {
  local container
  container=$(docker run -d --user 0 --network none --tmpfs /tmp:exec -v "$work/aot:/aot" -e NODE_NAME=training -e POD_NAMESPACE=training \
    -e FAIL_ON_INIT_ERROR=false -e KUBERNETES_MASTER=https://127.0.0.1:1 -e TRANCHE_NODE_PLUGIN_SERVICE_ACCOUNT=training:training \
    "$tag" /opt/tranche/runtime/bin/java "-XX:AOTCacheOutput=/aot/$1.aot" "@/opt/tranche/etc/$1.args")
  sleep 6
  docker stop -t 60 "$container" >/dev/null
  [ -s "$work/aot/$1.aot" ] || { docker logs "$container" >&2; echo "error: the training of $1 left no cache" >&2; exit 1; }
  docker rm "$container" >/dev/null
}

image
mkdir -p "$work/aot"
for part in "${parts[@]}"; do train "$part" & done
wait
mv "$work/aot" "$opt/aot"
for part in "${parts[@]}"; do
  [ -s "$opt/aot/$part.aot" ]
  { printf -- '-XX:AOTCache=/opt/tranche/aot/%s.aot\n' "$part"; cat "$opt/etc/$part.args"; } >"$work/args"
  mv "$work/args" "$opt/etc/$part.args"
done
image
echo "$tag"
