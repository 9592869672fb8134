package dev.tranche.nodeplugin.kubelet;

import java.nio.file.Path;

/** What people are told of another device plugin that serves our resource on this node. */
final class CompetingPlugin {
  private CompetingPlugin() {}

  static String nvidias(String resource, Path socket) {
    return ("%s is served by another device plugin, which answers at %s: probably NVIDIA's, and"
            + " \"kubectl get daemonsets -A\" shows its name. If NVIDIA's chart installed it, run"
            + " \"helm uninstall -n nvidia-device-plugin nvdp\"; if its YAML did, \"kubectl -n"
            + " kube-system delete daemonset nvidia-device-plugin-daemonset\"; if the GPU Operator"
            + " did, \"kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge -p"
            + " '{\"spec\":{\"devicePlugin\":{\"enabled\":false}}}'\". If no such pod runs on this"
            + " node, it is a service of the host: on Bottlerocket set"
            + " settings.kubelet-device-plugins.nvidia.enabled to false, on AKS use a node pool"
            + " without managed GPUs, and on EKS Auto Mode keep this plugin off the node"
            + " (docs/switching.md). This plugin takes over as soon as it is gone")
        .formatted(resource, socket);
  }

  static String tranches(String resource, Path socket) {
    return ("%s is served by another process of Tranche's node plugin, which answers at %s. If it"
            + " is not stopping, delete its pod or its Helm release; this plugin takes over as"
            + " soon as it is gone")
        .formatted(resource, socket);
  }
}
