package dev.tranche.nodeplugin.limit;

import dev.tranche.api.LimitRequest;
import dev.tranche.nodeplugin.config.Options.LimitOptions;
import dev.tranche.nodeplugin.limit.ContainerLimit.Limited;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.MemoryLimit;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.ContainerCgroups;
import dev.tranche.nodeplugin.usage.ContainerName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Reads back the limits of running containers. That NVIDIA's hook was requested does not say that
 * it ran, nor with which value. All but {@link #expect} is confined to the thread that calls NVML.
 */
public final class LimitReader {

  private static final MemoryLimit NO_LIMIT = new MemoryLimit(0, GpuReading.UNKNOWN);

  private final LimitOptions options;
  private final ContainerCgroups cgroups;
  private volatile List<ExpectedLimit> expected = List.of();
  // Not limited at the last read. Only NVIDIA's hook, which runs after the cgroup is made, sets it.
  private Set<ExpectedLimit> suspects = Set.of();

  /**
   * What was read.
   *
   * @param containers those that run and should have a limit
   */
  public record Result(NodeLimits node, List<ContainerLimit> containers) {}

  public LimitReader(LimitOptions options, ContainerCgroups cgroups) {
    this.options = options;
    this.cgroups = cgroups;
  }

  /** Sets which containers should have a limit. Any thread may call this. */
  public void expect(List<ExpectedLimit> now) {
    expected = List.copyOf(now);
  }

  /**
   * Reads the limits.
   *
   * @param indexes of the GPUs that are present, by uuid
   * @throws NvmlException if NVML itself is gone
   */
  public Result read(Nvml session, Map<String, Integer> indexes) {
    return new Result(
        NodeLimits.of(options, obstacle(session, indexes)), containers(session, indexes, expected));
  }

  /** NVIDIA's hook ends the start of a container where only the GPU or the kernel cannot limit. */
  private Optional<String> obstacle(Nvml session, Map<String, Integer> indexes) {
    if (!Files.exists(options.cgroups().resolve("cgroup.controllers"))) {
      return Optional.of(
          "n/a: cgroup v1: %s is not cgroup v2, which the driver needs; boot the node with cgroup v2 (systemd.unified_cgroup_hierarchy=1)"
              .formatted(options.cgroups()));
    }
    try {
      if (!indexes.isEmpty()) {
        session.memoryLimit(indexes.values().iterator().next(), options.cgroups());
      }
    } catch (NvmlException e) {
      NvmlException.rethrowIfDriverGone(e);
      if (e.functionMissing()) {
        return Optional.of(
            "driver %s has no memory limits; install a driver of the branch R615 or newer"
                .formatted(session.driverVersion()));
      }
    }
    return Optional.empty();
  }

  private List<ContainerLimit> containers(
      Nvml session, Map<String, Integer> indexes, List<ExpectedLimit> now) {
    List<ContainerLimit> limits = new ArrayList<>();
    Set<ExpectedLimit> before = suspects;
    suspects = new HashSet<>();
    try {
      Map<ContainerName, Path> folders = now.isEmpty() ? Map.of() : cgroups.find();
      for (ExpectedLimit limit : now) {
        Path folder = folders.get(limit.container());
        Integer index = indexes.get(limit.uuid());
        if (folder != null && index != null) {
          own(session, index, folder)
              .map(own -> judge(limit, own))
              .filter(
                  own -> !own.limited().wrong() || !suspects.add(limit) || before.contains(limit))
              .ifPresent(limits::add);
        }
      }
      return List.copyOf(limits);
    } catch (IOException unreadable) {
      // The obstacle says what is wrong with the folder.
      return List.of();
    }
  }

  /**
   * Returns the limit of a cgroup itself; empty if it cannot be read, as of a container that has
   * just ended. One backend of the driver answers with the limit of a cgroup above, which was set
   * for others; NVIDIA's hook sets none there.
   */
  private static Optional<MemoryLimit> own(Nvml session, int index, Path folder) {
    try {
      Optional<MemoryLimit> own = session.memoryLimit(index, folder);
      Path above = Optional.ofNullable(folder.getParent()).orElse(folder);
      boolean ofOthers =
          own.map(MemoryLimit::hardBytes)
              .equals(session.memoryLimit(index, above).map(MemoryLimit::hardBytes));
      return ofOthers || own.isEmpty() ? Optional.of(NO_LIMIT) : own;
    } catch (NvmlException e) {
      NvmlException.rethrowIfDriverGone(e);
      return Optional.empty();
    }
  }

  private static ContainerLimit judge(ExpectedLimit expected, MemoryLimit own) {
    return new ContainerLimit(
        expected.container(),
        expected.uuid(),
        limited(expected.hardBytes(), own.hardBytes()),
        own.hardBytes(),
        own.usedBytes());
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
