#!/usr/bin/env bash
# base.sh FOLDER: FOLDER/image.tar, an image of what a Java runtime links to, under the name of the
# public image that holds the same files and more (a shell among them: our own images need none).
set -euo pipefail
out=$1
rootfs=${ROOTFS:?}
image=debian:bookworm-slim
packages=(base-files netbase tzdata ca-certificates libc6 libgcc-s1 libstdc++6 zlib1g)

files() {
  local package list
  for package in "${packages[@]}"; do
    for list in "$rootfs/var/lib/dpkg/info/$package".list "$rootfs/var/lib/dpkg/info/$package":*.list; do
      [ ! -f "$list" ] || cat "$list"
    done
  done | sort -u
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Folders are made as needed; a package may own files that the rootfs leaves out (manuals).
files | while read -r path; do
  path=$(realpath -ms --relative-to=/ "$path")
  if [ -L "$rootfs/$path" ] || [ -f "$rootfs/$path" ]; then echo "$path"; fi
done >"$work/list"
mkdir "$work/root"
# /bin, /lib and the like are links into /usr: first the links, then all files through them.
for link in bin sbin lib lib64; do
  mkdir -p "$work/root/usr/$link"
  ln -s "usr/$link" "$work/root/$link"
done
tar -C "$rootfs" -cf - -T "$work/list" | tar -C "$work/root" -xf - --keep-directory-symlink
mkdir -p "$work/root"/{tmp,etc/ssl/certs,home/nonroot,run,var/tmp,var/lib/dpkg}
cp "$rootfs/var/lib/dpkg/status" "$work/root/var/lib/dpkg/"
chmod 1777 "$work/root/tmp" "$work/root/var/tmp"
cp "$rootfs/etc/ssl/certs/ca-certificates.crt" "$work/root/etc/ssl/certs/"
cp "$rootfs/etc/ld.so.cache" "$work/root/etc/"
printf '%s\n' root:x:0:0:root:/root:/sbin/nologin nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin \
  >"$work/root/etc/passwd"
printf '%s\n' root:x:0: nonroot:x:65532: >"$work/root/etc/group"
chown 65532:65532 "$work/root/home/nonroot"
tar -C "$work/root" -cf - . | docker import \
  --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
  --change 'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' - "$image" >/dev/null
docker save -o "$out/image.tar" "$image"
