package dev.tranche.webhook.guard;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds hostPath volumes that lead to GPUs, or to components that hand out GPUs. */
final class HostPaths {
  /**
   * The root or the working directory of a process of the node, which are the same for most
   * processes.
   */
  private static final Pattern BY_PROCESS =
      Pattern.compile("/proc/[^/]+(?:/task/[^/]+)?/(?:root|cwd)(?=/|$)");

  /** A process or one of its threads, whose folder contains its root. */
  private static final Pattern PROCESS =
      Pattern.compile("/proc/(?:\\d{1,10}|self|thread-self)(?:/task(?:/\\d{1,10})?)?");

  private final List<GpuAccessPath> places;

  HostPaths(String kubeletRoot) {
    String root = normalize(kubeletRoot);
    var places = new ArrayList<>(GpuAccessPath.ALL);
    for (String folder : GpuAccessPath.KUBELET_FOLDERS) {
      places.add(
          new GpuAccessPath(
              GpuAccessPath.Kind.PATH, root + "/" + folder, GuardFinding.KUBELET_SOCKETS));
    }
    this.places = List.copyOf(places);
  }

  void scan(JsonNode spec, GuardScan scan) {
    for (JsonNode volume : spec.path("volumes")) {
      JsonNode host = volume.path("hostPath");
      if (host.isObject()) {
        String path = normalize(text(host, "path"));
        finding(path)
            .ifPresent(
                finding ->
                    scan.recordUnremovable(
                        finding, "volume \"%s\" is the node's %s", text(volume, "name"), path));
      }
    }
  }

  private Optional<GuardFinding> finding(String named) {
    String real = withoutProcess(named);
    // /var/run is a link to /run.
    String path = isAtOrBelow(real, "/var/run") ? real.substring("/var".length()) : real;
    if (PROCESS.matcher(path).matches()) {
      return Optional.of(GuardFinding.HOST_PROCESSES);
    }
    return places.stream()
        .filter(place -> place.isReachableFrom(path))
        .map(GpuAccessPath::finding)
        .findFirst();
  }

  /**
   * Removes leading matches of {@link #BY_PROCESS} one by one. A pattern with a repeated group
   * recurses, and a path may be long.
   */
  private static String withoutProcess(String path) {
    Matcher process = BY_PROCESS.matcher(path);
    int start = 0;
    while (process.region(start, path.length()).lookingAt()) {
      start = process.end();
    }
    return start == path.length() ? "/" : path.substring(start);
  }

  /**
   * Returns the path without dot segments and doubled slashes. Accepts any text, since no path may
   * make the guard fail. Takes one pass and one buffer, however many segments there are.
   */
  static String normalize(String path) {
    var normalized = new StringBuilder(path.length() + 1);
    int end;
    for (int from = 0; from <= path.length(); from = end + 1) {
      int slash = path.indexOf('/', from);
      end = slash < 0 ? path.length() : slash;
      int length = end - from;
      if (length == 2 && path.startsWith("..", from)) {
        normalized.setLength(Math.max(0, normalized.lastIndexOf("/")));
      } else if (length > 0 && !(length == 1 && path.charAt(from) == '.')) {
        normalized.append('/').append(path, from, end);
      }
    }
    return normalized.isEmpty() ? "/" : normalized.toString();
  }

  /** Whether a path is a place or lies in it. */
  static boolean isAtOrBelow(String path, String place) {
    return path.equals(place) || path.startsWith(place + "/");
  }
}
