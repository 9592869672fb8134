package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

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
          "/run/k0s/containerd.sock",
          "/run/docker/containerd/containerd.sock",
          "/var/snap/microk8s/common/run/containerd.sock",
          "/run/crio/crio.sock",
          "/run/docker.sock",
          "/run/cri-dockerd.sock");

  private static final List<String> CDI_FOLDERS = List.of("/etc/cdi", "/run/cdi");

  /** Of a process of the node: its root, and where it stands, which is the same for most. */
  private static final Pattern BY_PROCESS =
      Pattern.compile("/proc/[^/]+(?:/task/[^/]+)?/(?:root|cwd)(?=/|$)");

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
    String real = withoutProcess(named);
    // The one is a link to the other.
    String path = at(real, "/var/run") ? real.substring("/var".length()) : real;
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

  /** One after another, since a pattern that repeats recurses, and a path may be long. */
  private static String withoutProcess(String path) {
    Matcher process = BY_PROCESS.matcher(path);
    int start = 0;
    while (process.region(start, path.length()).lookingAt()) {
      start = process.end();
    }
    return start == path.length() ? "/" : path.substring(start);
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
