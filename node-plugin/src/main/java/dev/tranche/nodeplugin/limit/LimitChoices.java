package dev.tranche.nodeplugin.limit;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.usage.ContainerCgroups;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What pods say about the memory limits of their containers, by their assignments. The kubelet's
 * lists do not tell it, so it is kept for as long as a container holds replicas, also across a
 * restart. Confined to one thread. Times are milliseconds of a monotonic clock.
 */
public final class LimitChoices {
  public static final String FILE = "memory-limits";

  /** More than a node has replicas and keeps assignments together. */
  public static final int CONTAINERS_MAX = 16_384;

  /** A kubelet that has just started lists its pods only bit by bit. */
  static final long KEEP_MS = 600_000;

  private static final Pattern LINE =
      Pattern.compile("([^\\s/]+)/([^\\s/]+)/([^\\s/]+) (0|[1-9]\\d{0,17})");

  private record Choice(long bytes, long untilMs) {}

  private final Map<ContainerCgroups.Name, Choice> choices = new HashMap<>();

  /** Restores what an earlier run has kept. Skips malformed lines. */
  public void restore(byte[] content, long nowMs) {
    new String(content, UTF_8)
        .lines()
        .map(LINE::matcher)
        .filter(Matcher::matches)
        .limit(CONTAINERS_MAX)
        .forEach(
            line ->
                choices.put(
                    new ContainerCgroups.Name(line.group(1), line.group(2), line.group(3)),
                    new Choice(Long.parseLong(line.group(4)), nowMs + KEEP_MS)));
  }

  /** Returns what to keep for a restart. */
  public byte[] content() {
    return choices.entrySet().stream()
        .map(entry -> entry.getKey() + " " + entry.getValue().bytes() + "\n")
        .sorted()
        .collect(Collectors.joining())
        .getBytes(UTF_8);
  }

  /** Records what an assignment says, and returns whether that is new. */
  public boolean received(Assignment assignment, long nowMs) {
    boolean changed = false;
    long untilMs = nowMs + Math.max(KEEP_MS, Integer.toUnsignedLong(assignment.getExpiresInMs()));
    for (ContainerAssignment container : assignment.getContainersList()) {
      ContainerCgroups.Name name =
          new ContainerCgroups.Name(
              assignment.getNamespace(), assignment.getPod(), container.getContainer());
      // A pod of the same name may have said something else.
      Choice before = choices.remove(name);
      Choice now =
          container.hasMemoryLimit() && choices.size() < CONTAINERS_MAX
              ? new Choice(container.getMemoryLimit().getBytes(), untilMs)
              : null;
      if (now != null) {
        choices.put(name, now);
      }
      changed |= now == null ? before != null : before == null || before.bytes() != now.bytes();
    }
    return changed;
  }

  /**
   * Drops what is said about containers that have held nothing for a while.
   *
   * @return whether there were any
   */
  public boolean held(List<Holding> holdings, long nowMs) {
    if (choices.isEmpty()) {
      return false;
    }
    for (Holding holding : holdings) {
      choices.computeIfPresent(
          new ContainerCgroups.Name(
              holding.getNamespace(), holding.getPod(), holding.getContainer()),
          (name, choice) ->
              new Choice(choice.bytes(), Math.max(choice.untilMs(), nowMs + KEEP_MS)));
    }
    return choices.values().removeIf(choice -> choice.untilMs() <= nowMs);
  }

  /** Returns what the pod says about a container's limit, in bytes. */
  public OptionalLong of(ContainerCgroups.Name container) {
    Choice choice = choices.get(container);
    return choice == null ? OptionalLong.empty() : OptionalLong.of(choice.bytes());
  }

  /** Returns the number of containers that it knows something about. */
  public int size() {
    return choices.size();
  }
}
