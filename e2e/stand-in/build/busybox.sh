#!/usr/bin/env bash
# busybox.sh FOLDER: FOLDER/image.tar, a small image with a shell for tests.
set -euo pipefail
out=$1
rootfs=${ROOTFS:?}
image=tranche-e2e/busybox:1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work"/{bin,etc,tmp,root}
chmod 1777 "$work/tmp"
cp "$rootfs/bin/busybox" "$work/bin/"
"$work/bin/busybox" --list | grep -vx busybox | while read -r applet; do
  ln -s busybox "$work/bin/$applet"
done
echo root:x:0:0:root:/root:/bin/sh >"$work/etc/passwd"
echo root:x:0: >"$work/etc/group"
tar -C "$work" -cf - . | docker import --change 'ENV PATH=/bin' --change 'CMD ["sh"]' - "$image" >/dev/null
docker save -o "$out/image.tar" "$image"
