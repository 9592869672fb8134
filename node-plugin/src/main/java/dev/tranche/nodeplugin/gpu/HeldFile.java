package dev.tranche.nodeplugin.gpu;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;

import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The content of the file that keeps held replicas across a restart, in which the config may
 * change. Each has one line, {@code <resource> <id> <replicas per GPU>}, the pod of an init
 * container that got it, and what its pod says about its memory limit.
 */
public final class HeldFile {
  public static final String NAME = "held-replicas";
  private static final Pattern LINE =
      Pattern.compile("(\\S+) (\\S+) ([1-9]\\d{0,4})(?: ([^\\s=]+))?(?: limit=(\\d{1,18}))?");

  private HeldFile() {}

  public static byte[] content(Collection<HeldReplica> held) {
    return held.stream().map(HeldFile::line).sorted().collect(joining()).getBytes(UTF_8);
  }

  private static String line(HeldReplica held) {
    String pod = held.podOfInit().isEmpty() ? "" : " " + held.podOfInit();
    String limit = held.memoryLimit().isEmpty() ? "" : " limit=" + held.memoryLimit().getAsLong();
    return held.resource() + " " + held.id() + " " + held.replicasPerGpu() + pod + limit + "\n";
  }

  /** Parses the content and skips malformed lines. */
  public static List<HeldReplica> parse(byte[] content) {
    return new String(content, UTF_8).lines().flatMap(line -> replica(line).stream()).toList();
  }

  private static Optional<HeldReplica> replica(String line) {
    Matcher match = LINE.matcher(line);
    return match.matches()
        ? Optional.of(
            new HeldReplica(
                match.group(1),
                match.group(2),
                Integer.parseInt(match.group(3)),
                Objects.requireNonNullElse(match.group(4), ""),
                match.group(5) == null
                    ? OptionalLong.empty()
                    : OptionalLong.of(Long.parseLong(match.group(5)))))
        : Optional.empty();
  }
}
