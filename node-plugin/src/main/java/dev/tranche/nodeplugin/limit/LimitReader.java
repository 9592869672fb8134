package dev.tranche.nodeplugin.limit;

import dev.tranche.api.LimitRequest;
import dev.tranche.nodeplugin.limit.ContainerLimit.Limited;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.MemoryLimit;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.ContainerCgroups;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads back the limits of running containers. That NVIDIA's hook was requested does not say that
 * it ran, nor with which value. Sets them first, if that is not left to the hook. All but {@link
 * #expect} is confined to the thread that calls NVML.
 */
public final class LimitReader {
  static final long INTERVAL_MS = 10_000;

  /** A container has no limit before the plugin sets it. */
  static final long SET_INTERVAL_MS = 1_000;

  private static final Logger LOG = LoggerFactory.getLogger(LimitReader.class);

  private static final MemoryLimit.Reading NO_LIMIT =
      new MemoryLimit.Reading(MemoryLimit.hard(0), GpuReading.UNKNOWN);

  private final ContainerCgroups cgroups;
  private final LongSupplier clockMs;
  private volatile List<ExpectedLimit> expected = List.of();
  private List<ContainerLimit> read = List.of();
  // Not limited at the last read. Only NVIDIA's hook, which runs after the cgroup is made, sets it.
  private Set<ExpectedLimit> suspects = Set.of();
  // Their limits could not be set, and the log says so.
  private final Set<ExpectedLimit> refused = new HashSet<>();
  private long nextAtMs = Long.MIN_VALUE;

  public LimitReader(ContainerCgroups cgroups, LongSupplier clockMs) {
    this.cgroups = cgroups;
    this.clockMs = clockMs;
  }

  /** Sets which containers should have a limit. Any thread may call this. */
  public void expect(List<ExpectedLimit> now) {
    expected = List.copyOf(now);
  }

  /**
   * Returns the limits as last read, at most every ten seconds, or every second if the plugin sets
   * them. Leaves out containers that do not run.
   *
   * @param indexes of the GPUs that are present, by uuid
   * @param limits how their limits read
   * @throws NvmlException if NVML itself is gone
   */
  public List<ContainerLimit> read(Nvml session, Map<String, Integer> indexes, NodeLimits limits) {
    long nowMs = clockMs.getAsLong();
    List<ExpectedLimit> now = expected;
    if (nowMs >= nextAtMs) {
      nextAtMs = nowMs + (limits.byPlugin() ? SET_INTERVAL_MS : INTERVAL_MS);
      read = now.isEmpty() ? List.of() : readNow(session, indexes, limits, now);
    }
    return read;
  }

  private List<ContainerLimit> readNow(
      Nvml session, Map<String, Integer> indexes, NodeLimits support, List<ExpectedLimit> now) {
    List<ContainerLimit> limits = new ArrayList<>();
    Set<ExpectedLimit> before = suspects;
    suspects = new HashSet<>();
    refused.retainAll(now);
    try {
      Map<ContainerCgroups.Name, Path> folders = cgroups.find();
      for (ExpectedLimit limit : now) {
        Path folder = folders.get(limit.container());
        Integer index = indexes.get(limit.uuid());
        if (folder != null && index != null) {
          settled(session, index, folder, support, limit)
              .map(own -> judge(limit, own, support))
              .filter(
                  own -> !own.limited().wrong() || !suspects.add(limit) || before.contains(limit))
              .ifPresent(limits::add);
        }
      }
      return List.copyOf(limits);
    } catch (IOException unreadable) {
      // The probe needs the same folder and says what is wrong with it.
      return List.of();
    }
  }

  /** Returns the limit of a container, once the plugin has set it if that is its task. */
  private Optional<MemoryLimit.Reading> settled(
      Nvml session, int index, Path folder, NodeLimits support, ExpectedLimit limit) {
    boolean inherited = support.inherited(limit.uuid());
    Optional<MemoryLimit.Reading> own = own(session, index, folder, inherited);
    if (!support.byPlugin() || own.filter(now -> exceeds(limit, now)).isEmpty()) {
      return own;
    }
    set(session, index, folder, limit);
    return own(session, index, folder, inherited);
  }

  /** Whether a container may have more memory than it should. */
  private static boolean exceeds(ExpectedLimit expected, MemoryLimit.Reading own) {
    return limited(expected.hardBytes(), own.limit().hardBytes()).wrong();
  }

  private void set(Nvml session, int index, Path folder, ExpectedLimit limit) {
    try {
      session.memoryLimit(index, folder, MemoryLimit.hard(limit.hardBytes()));
    } catch (NvmlException e) {
      if (e.driverGone()) {
        throw e;
      }
      if (refused.add(limit)) {
        LOG.warn("cannot limit the memory of container {}: {}", limit.container(), e.getMessage());
      }
    }
  }

  /**
   * Returns the limit of a cgroup itself; empty if it cannot be read, as of a container that has
   * just ended.
   *
   * @param inherited whether the limit of a cgroup above may be read, which may have been set for
   *     others
   */
  private static Optional<MemoryLimit.Reading> own(
      Nvml session, int index, Path folder, boolean inherited) {
    try {
      Optional<MemoryLimit.Reading> own = session.memoryLimit(index, folder);
      boolean ofOthers =
          inherited && own.map(MemoryLimit.Reading::limit).equals(above(session, index, folder));
      return ofOthers || own.isEmpty() ? Optional.of(NO_LIMIT) : own;
    } catch (NvmlException e) {
      if (e.driverGone()) {
        throw e;
      }
      return Optional.empty();
    }
  }

  private static Optional<MemoryLimit> above(Nvml session, int index, Path folder) {
    Path above = Optional.ofNullable(folder.getParent()).orElse(folder);
    return session.memoryLimit(index, above).map(MemoryLimit.Reading::limit);
  }

  private static ContainerLimit judge(
      ExpectedLimit expected, MemoryLimit.Reading own, NodeLimits support) {
    long hardBytes = own.limit().hardBytes();
    Limited limited = limited(expected.hardBytes(), hardBytes);
    // That backend does not count what the program had before, so the use is not known either.
    boolean late = support.byPlugin() && support.inherited(expected.uuid());
    return new ContainerLimit(
        expected.container(),
        expected.uuid(),
        late && limited == Limited.YES ? Limited.PARTLY : limited,
        hardBytes,
        late ? GpuReading.UNKNOWN : own.usedBytes());
  }

  private static Limited limited(long expectedBytes, long hardBytes) {
    if (expectedBytes == LimitRequest.NONE) {
      return Limited.OPTED_OUT;
    }
    if (hardBytes == 0) {
      return Limited.NO;
    }
    return Long.compareUnsigned(hardBytes, expectedBytes) > 0 ? Limited.PARTLY : Limited.YES;
  }
}
