package dev.tranche.nodeplugin.usage;

import static java.util.stream.Collectors.toMap;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Names of this node's pods and containers, from the names of the kubelet's log folders: {@code
 * pods/<namespace>_<pod>_<uid>} and {@code containers/<pod>_<namespace>_<container>-<id>.log}.
 * Reads no log. If a name is missing, lists the folders again, at a bounded rate.
 */
final class PodNames {
  private static final long RELIST_INTERVAL_MS = 5_000;

  private static final int SHORT_ID = 12;
  private static final Pattern POD = Pattern.compile("([^_]+)_([^_]+)_(?<id>[0-9a-f-]{32,36})");
  private static final Pattern CONTAINER =
      Pattern.compile("[^_]+_[^_]+_(.+)-(?<id>[0-9a-f]{64})\\.log");

  private final Path folder;
  private final LongSupplier clockMs;
  private Map<String, PodName> pods = Map.of();
  private Map<String, String> containers = Map.of();
  private long readAtMs = Long.MIN_VALUE / 2;
  // Empty while they can be read.
  private String complaint = "";

  /**
   * @param folder the host's {@code /var/log}
   */
  PodNames(Path folder, LongSupplier clockMs) {
    this.folder = folder;
    this.clockMs = clockMs;
  }

  /**
   * Returns empty if there is no such pod. A container without a known name gets the start of its
   * id.
   */
  Optional<ContainerName> of(CgroupPath path) {
    boolean listed = pods.containsKey(path.podUid()) && containers.containsKey(path.containerId());
    if (!listed && clockMs.getAsLong() - readAtMs >= RELIST_INTERVAL_MS) {
      read();
    }
    String id = path.containerId();
    String name = containers.getOrDefault(id, id.substring(0, SHORT_ID));
    return Optional.ofNullable(pods.get(path.podUid())).map(pod -> new ContainerName(pod, name));
  }

  private void read() {
    readAtMs = clockMs.getAsLong();
    try {
      pods = list("pods", POD, match -> new PodName(match.group(1), match.group(2)));
      containers = list("containers", CONTAINER, match -> match.group(1));
      complaint = "";
    } catch (IOException e) {
      complaint = "use per pod is unknown, since pod names cannot be read: " + e;
    }
  }

  /** Returns why pod names cannot be read; empty if they can. */
  Optional<String> problem() {
    return complaint.isEmpty() ? Optional.empty() : Optional.of(complaint);
  }

  /** Returns what the names in a folder say, by the ids in them. */
  private <T> Map<String, T> list(String child, Pattern names, Function<MatchResult, T> what)
      throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve(child))) {
      return files
          .map(file -> names.matcher(file.getFileName().toString()))
          .filter(Matcher::matches)
          .collect(toMap(match -> match.group("id"), what, (one, other) -> other));
    }
  }
}
