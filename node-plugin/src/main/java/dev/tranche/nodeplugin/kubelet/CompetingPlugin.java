package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.DevicePluginGrpcClient;
import dev.tranche.api.kubelet.Empty;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Path;

/** Another device plugin that serves our resource on this node. */
final class CompetingPlugin {
  private static final int LIMIT_MS = 2_000;

  private CompetingPlugin() {}

  /**
   * Another plugin serves the resource. Two plugins would replace each other in the kubelet again
   * and again.
   */
  static final class OccupiedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private OccupiedException(String sentence) {
      super(sentence);
    }
  }

  static OccupiedException nvidias(String resource, Path socket) {
    return new OccupiedException(
        ("%s is served by another device plugin, which answers at %s: probably NVIDIA's, and"
                + " \"kubectl get daemonsets -A\" shows its name. If NVIDIA's chart installed it, run"
                + " \"helm uninstall -n nvidia-device-plugin nvdp\"; if its YAML did, \"kubectl -n"
                + " kube-system delete daemonset nvidia-device-plugin-daemonset\"; if the GPU Operator"
                + " did, \"kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge -p"
                + " '{\"spec\":{\"devicePlugin\":{\"enabled\":false}}}'\". If no such pod runs on this"
                + " node, it is a service of the host: on Bottlerocket set"
                + " settings.kubelet-device-plugins.nvidia.enabled to false, on AKS use a node pool"
                + " without managed GPUs, and on EKS Auto Mode keep this plugin off the node"
                + " (docs/switching.md). This plugin takes over as soon as it is gone")
            .formatted(resource, socket));
  }

  static OccupiedException tranches(String resource, Path socket) {
    return new OccupiedException(
        ("%s is served by another process of Tranche's node plugin, which answers at %s. If it is"
                + " not stopping, delete its pod or its Helm release; this plugin takes over as"
                + " soon as it is gone")
            .formatted(resource, socket));
  }

  /**
   * Returns whether a plugin answers at the socket. A file that a killed plugin has left behind
   * does not.
   */
  static Future<Boolean> answers(Vertx vertx, Path socket) {
    return UnaryCall.once(
            vertx,
            socket,
            DevicePluginGrpcClient.GetDevicePluginOptions,
            Empty.getDefaultInstance(),
            LIMIT_MS)
        .map(true)
        // A plugin that accepts the connection is alive, even if it answers with an error.
        .otherwise(failure -> !(failure instanceof IOException));
  }
}
