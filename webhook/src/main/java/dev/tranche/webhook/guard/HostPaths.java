package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Volumes of the node's own file system that lead to GPUs or to the kubelet's sockets. */
final class HostPaths {
  /** GPUs, by their names and by their numbers. */
  private static final List<String> DEVICES = List.of("/dev/char", "/dev/dri");

  private static final String NVIDIA_DEVICES = "/dev/nvidia";
  private final List<String> socketFolders;

  HostPaths(String kubeletRoot) {
    String root = plain(kubeletRoot);
    socketFolders = List.of(root + "/device-plugins", root + "/pod-resources");
  }

  void sweep(JsonNode spec, Sweep sweep) {
    for (JsonNode volume : spec.path("volumes")) {
      JsonNode host = volume.path("hostPath");
      if (host.isObject()) {
        String path = plain(host.path("path").asText(""));
        finding(path)
            .ifPresent(
                finding ->
                    sweep.tell(
                        finding,
                        "volume \"%s\" is the node's %s"
                            .formatted(
                                Sweep.cut(volume.path("name").asText("")), Sweep.cut(path))));
      }
    }
  }

  private Optional<Finding> finding(String path) {
    boolean devices =
        path.startsWith(NVIDIA_DEVICES)
            || holds(path, NVIDIA_DEVICES)
            || DEVICES.stream().anyMatch(d -> at(path, d));
    if (devices) {
      return Optional.of(Finding.HOST_DEVICES);
    }
    return Stream.concat(socketFolders.stream(), Stream.of("/var/lib/kubelet/device-plugins"))
            .anyMatch(folder -> at(path, folder) || holds(path, folder))
        ? Optional.of(Finding.KUBELET_SOCKETS)
        : Optional.empty();
  }

  /** Without dots and doubled slashes; any text is a path here, none may make the guard fail. */
  static String plain(String path) {
    var segments = new ArrayDeque<String>();
    for (String segment : path.split("/+", -1)) {
      if (segment.equals("..")) {
        segments.pollLast();
      } else if (!segment.isEmpty() && !segment.equals(".")) {
        segments.addLast(segment);
      }
    }
    return "/" + String.join("/", segments);
  }

  /** Whether a path is a place or lies in it. */
  static boolean at(String path, String place) {
    return path.equals(place) || path.startsWith(place + "/");
  }

  private static boolean holds(String path, String place) {
    return path.equals("/") || place.startsWith(path + "/");
  }
}
