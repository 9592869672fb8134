package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;

/** Volumes of the node's own file system that lead to GPUs, or to those who hand GPUs out. */
final class HostPaths {
  /** GPUs, by their names and by their numbers. */
  private static final List<String> DEVICES = List.of("/dev/char", "/dev/dri");

  private static final String NVIDIA_DEVICES = "/dev/nvidia";

  /** Device nodes of a driver that runs in a container. */
  private static final String DRIVER_DEVICES = "/run/nvidia/driver/dev";

  private static final List<String> RUNTIME_SOCKETS =
      List.of(
          "/run/containerd/containerd.sock",
          "/run/k3s/containerd/containerd.sock",
          "/run/crio/crio.sock",
          "/run/docker.sock",
          "/run/cri-dockerd.sock");

  private static final List<String> CDI_FOLDERS = List.of("/etc/cdi", "/run/cdi");
  private final List<String> socketFolders;

  HostPaths(String kubeletRoot) {
    String root = plain(kubeletRoot);
    socketFolders =
        List.of(
            root + "/device-plugins",
            root + "/pod-resources",
            "/var/lib/kubelet/device-plugins",
            "/var/lib/kubelet/pod-resources");
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

  private Optional<Finding> finding(String named) {
    // The one is a link to the other.
    String path = at(named, "/var/run") ? named.substring("/var".length()) : named;
    boolean devices =
        path.startsWith(NVIDIA_DEVICES)
            || holds(path, NVIDIA_DEVICES)
            || DEVICES.stream().anyMatch(d -> at(path, d))
            || leadsTo(path, List.of(DRIVER_DEVICES));
    if (devices) {
      return Optional.of(Finding.HOST_DEVICES);
    }
    if (leadsTo(path, socketFolders)) {
      return Optional.of(Finding.KUBELET_SOCKETS);
    }
    if (leadsTo(path, RUNTIME_SOCKETS)) {
      return Optional.of(Finding.RUNTIME_SOCKET);
    }
    return leadsTo(path, CDI_FOLDERS) ? Optional.of(Finding.CDI_SPECS) : Optional.empty();
  }

  private static boolean leadsTo(String path, List<String> places) {
    return places.stream().anyMatch(place -> at(path, place) || holds(path, place));
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
