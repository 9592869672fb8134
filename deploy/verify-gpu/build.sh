#!/usr/bin/env bash
# build.sh FILE: writes verify-gpu as an archive of one folder, for the architecture of this machine. Where it runs, it needs a shell and glibc.
# Needs JAVA_HOME (a JDK 25 or newer) and the jars of `./mvnw package`. The same inputs make the same file, byte by byte.
set -euo pipefail
shopt -s inherit_errexit
file=${1:?usage: build.sh FILE}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle=$work/verify-gpu
mkdir -p "$bundle/lib" "$(dirname "$file")"

# Those of the image, see deploy/image/build.sh, without elliptic curves, since nothing here uses TLS.
modules=java.base,java.logging,java.management,java.naming,java.net.http,java.security.sasl,java.xml,jdk.management,jdk.net,jdk.unsupported

# Nothing is compressed twice: the archive is compressed as a whole, which finds what classes have in common.
"$JAVA_HOME/bin/jlink" --add-modules "$modules" --output "$bundle/runtime" --strip-debug --no-header-files --no-man-pages --compress zip-0 2>/dev/null
cp "$root"/e2e/verify/target/tranche-verify-gpu-*.jar "$root"/e2e/verify/target/lib/*.jar "$bundle/lib/"
case $(uname -m) in aarch64) jna=linux-aarch64 ;; *) jna=linux-x86-64 ;; esac
(cd "$work" && "$JAVA_HOME/bin/jar" xf "$(find "$bundle/lib" -name 'jna-5*.jar')" "com/sun/jna/$jna/libjnidispatch.so" &&
  install -D "com/sun/jna/$jna/libjnidispatch.so" "$bundle/native/libjnidispatch.so")
"$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -cp "$root/e2e/verify/target/lib/*" "$root/deploy/image/Store.java" "$bundle/lib"
cp "$root/LICENSE" "$here/verify-gpu" "$bundle/"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go-w --mtime=@1767225600 -cf - verify-gpu | gzip -n9 >"$file"
