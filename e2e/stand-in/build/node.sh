#!/usr/bin/env bash
# node.sh IMAGE: the stand-in's image, from its parts.
set -euo pipefail
image=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Links to the kept files, beside them.
work=$(mktemp -d "$(dirname "${ROOTFS:?}")/../.node.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp -al "$ROOTFS/." "$work"
rm -rf "$work"/var/lib/dpkg/info
chmod 755 "$work"
mkdir -p "$work"/usr/local/{bin,lib,share/stand-in}
cp "${KUBE:?}/kube" "${KUBE:?}/etcd" "${COREDNS:?}/coredns" "$here/node/k3s" "$work/usr/local/bin/"
for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
  ln -s kube "$work/usr/local/bin/$name"
done
cp -r "$here/node/lib" "$work/usr/local/lib/stand-in"
cp "${PAUSE:?}/image.tar" "$work/usr/local/share/stand-in/pause.tar"
# Volumes as K3s declares them: image layers of pods need a file system that is not an overlay itself.
tar -cf - -C "$work" . | docker import \
  --change 'ENTRYPOINT ["/usr/local/bin/k3s"]' --change 'CMD ["agent"]' \
  --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
  --change 'ENV KUBECONFIG=/etc/rancher/k3s/k3s.yaml' \
  --change 'VOLUME /var/lib/kubelet /var/lib/rancher/k3s /var/lib/cni /var/log' - "$image" >/dev/null
