package dev.tranche.nodeplugin.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The content of the file that keeps held replicas across a restart, in which the config may
 * change. Each has one line, {@code <resource> <id> <replicas per GPU>}.
 */
public final class HeldFile {
  public static final String NAME = "held-replicas";
  private static final Pattern LINE = Pattern.compile("(\\S+) (\\S+) ([1-9]\\d{0,4})");

  private HeldFile() {}

  public static byte[] content(Collection<HeldReplica> held) {
    return held.stream()
        .map(h -> h.resource() + " " + h.id() + " " + h.replicasPerGpu() + "\n")
        .sorted()
        .collect(Collectors.joining())
        .getBytes(UTF_8);
  }

  /** Parses the content and skips malformed lines. */
  public static List<HeldReplica> parse(byte[] content) {
    return new String(content, UTF_8).lines().flatMap(line -> replica(line).stream()).toList();
  }

  private static Optional<HeldReplica> replica(String line) {
    Matcher match = LINE.matcher(line);
    return match.matches()
        ? Optional.of(
            new HeldReplica(match.group(1), match.group(2), Integer.parseInt(match.group(3))))
        : Optional.empty();
  }
}
