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
docker build -q -t "$tag" ${BASE:+--build-arg "BASE=$BASE"} "$work" >/dev/null 2>"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
echo "$tag"
