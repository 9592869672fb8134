package dev.tranche.nodeplugin.kubelet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The sockets of one resource in the kubelet's folder: ours, those of other processes of Tranche,
 * and NVIDIA's. Each registration gets a socket of its own: since 1.37 the kubelet refuses a path
 * that it still knows, and it may know a path for ever.
 */
final class PluginSockets {
  private static final int ID_CHARS = 8;

  private final Path folder;
  private final String resource;
  private final String prefix;
  private final String nvidias;
  private final Pattern tranches;

  PluginSockets(Path folder, String resource) {
    this.folder = folder;
    this.resource = resource;
    String name = resource.substring(resource.indexOf('/') + 1);
    this.prefix = "tranche-" + name + "-";
    this.nvidias = "nvidia-" + name + ".sock";
    this.tranches = Pattern.compile(Pattern.quote(prefix) + "[0-9a-f]{" + ID_CHARS + "}\\.sock");
  }

  /** Returns the path of a socket that no process has used, such as tranche-gpu-1f0c9a3e.sock. */
  Path next() {
    String id = UUID.randomUUID().toString().substring(0, ID_CHARS);
    return folder.resolve(prefix + id + ".sock");
  }

  /**
   * Returns a sentence about another plugin that serves the resource; empty if none does. Deletes
   * what an earlier process of Tranche has left behind; other plugins' files stay.
   */
  Optional<String> occupied(@Nullable SocketFile ours) throws IOException {
    try (var files = Files.newDirectoryStream(folder, this::belongsToResource)) {
      for (Path file : files) {
        if (ours != null && file.equals(ours.path())) {
          continue;
        }
        if (SocketFile.isListenedOn(file)) {
          return Optional.of(isTranches(file) ? servedByTranche(file) : servedByAnother(file));
        }
        if (isTranches(file)) {
          Files.deleteIfExists(file);
        }
      }
    } catch (NoSuchFileException | NotDirectoryException noFolder) {
      // Nobody serves it there.
    }
    return Optional.empty();
  }

  private boolean belongsToResource(Path file) {
    return file.getFileName().toString().equals(nvidias) || isTranches(file);
  }

  private boolean isTranches(Path file) {
    return tranches.matcher(file.getFileName().toString()).matches();
  }

  private String servedByAnother(Path socket) {
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

  private String servedByTranche(Path socket) {
    return ("%s is served by another process of Tranche's node plugin, which answers at %s. If it"
            + " is not stopping, delete its pod or its Helm release; this plugin takes over as"
            + " soon as it is gone")
        .formatted(resource, socket);
  }
}
