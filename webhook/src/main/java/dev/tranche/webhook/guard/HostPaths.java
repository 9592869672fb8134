package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Volumes of the node's own file system that lead to GPUs, or to those who hand GPUs out. */
final class HostPaths {
  /** Of a process of the node: its root, and where it stands, which is the same for most. */
  private static final Pattern BY_PROCESS =
      Pattern.compile("/proc/[^/]+(?:/task/[^/]+)?/(?:root|cwd)(?=/|$)");

  /** A process, or a thread of it: its root is in there. */
  private static final Pattern PROCESS =
      Pattern.compile("/proc/(?:\\d{1,10}|self|thread-self)(?:/task(?:/\\d{1,10})?)?");

  private final List<GpuAccess> places;

  HostPaths(String kubeletRoot) {
    String root = plain(kubeletRoot);
    var places = new ArrayList<>(GpuAccess.ALL);
    for (String folder : GpuAccess.KUBELET_FOLDERS) {
      places.add(
          new GpuAccess(
              GpuAccess.Kind.PATH,
              root + "/" + folder,
              Finding.KUBELET_SOCKETS,
              "the kubelet's sockets, where this cluster has them"));
    }
    this.places = List.copyOf(places);
  }

  void scan(JsonNode spec, GuardScan scan) {
    for (JsonNode volume : spec.path("volumes")) {
      JsonNode host = volume.path("hostPath");
      if (host.isObject()) {
        String path = plain(host.path("path").asText(""));
        finding(path)
            .ifPresent(
                finding ->
                    scan.tell(
                        finding,
                        "volume \"%s\" is the node's %s",
                        volume.path("name").asText(""),
                        path));
      }
    }
  }

  private Optional<Finding> finding(String named) {
    String real = withoutProcess(named);
    // The one is a link to the other.
    String path = at(real, "/var/run") ? real.substring("/var".length()) : real;
    if (PROCESS.matcher(path).matches()) {
      return Optional.of(Finding.HOST_PROCESSES);
    }
    return places.stream()
        .filter(place -> place.leadsFrom(path))
        .map(GpuAccess::finding)
        .findFirst();
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

  /**
   * Without dots and doubled slashes; any text is a path here, none may make the guard fail. One
   * pass and one buffer, however many segments there are.
   */
  static String plain(String path) {
    var plain = new StringBuilder(path.length() + 1);
    int end;
    for (int from = 0; from <= path.length(); from = end + 1) {
      int slash = path.indexOf('/', from);
      end = slash < 0 ? path.length() : slash;
      int length = end - from;
      if (length == 2 && path.startsWith("..", from)) {
        plain.setLength(Math.max(0, plain.lastIndexOf("/")));
      } else if (length > 0 && !(length == 1 && path.charAt(from) == '.')) {
        plain.append('/').append(path, from, end);
      }
    }
    return plain.isEmpty() ? "/" : plain.toString();
  }

  /** Whether a path is a place or lies in it. */
  static boolean at(String path, String place) {
    return path.equals(place) || path.startsWith(place + "/");
  }
}
