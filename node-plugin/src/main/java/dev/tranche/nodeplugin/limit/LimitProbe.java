package dev.tranche.nodeplugin.limit;

import dev.tranche.nodeplugin.config.WatchOptions.LimitOptions;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.MemoryLimit;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Tries a limit on each GPU: sets it on a cgroup made for that, reads it back and removes both.
 * NVIDIA's hook ends a container's start where a limit cannot be set, so a container must not be
 * the first to try. Confined to the thread that calls NVML.
 */
public final class LimitProbe {
  /** A GPU that could not be limited is tried again after this time, and the toolkit is read. */
  static final long RETRY_MS = 60_000;

  private static final String CGROUP = "tranche-memory-limit-probe";

  /** A cgroup in that one, which gets no limit. */
  private static final String BELOW = "without-limit";

  private static final MemoryLimit LIMIT = MemoryLimit.hard(256L << 20);

  /** Where the kubelet's cgroup driver, systemd or cgroupfs, has its pods. */
  private static final List<String> PODS = List.of("kubepods.slice", "kubepods");

  private final LimitOptions options;
  private final LongSupplier clockMs;
  private final ToolkitReader toolkits;
  private final Map<String, LimitSupport> gpus = new HashMap<>();
  private Toolkit toolkit = Toolkit.UNKNOWN;
  private long retryAtMs = Long.MIN_VALUE;

  public LimitProbe(LimitOptions options, LongSupplier clockMs) {
    this.options = options;
    this.clockMs = clockMs;
    this.toolkits = new ToolkitReader(options.toolkit(), options.runtimeConfig());
  }

  /** NVML was started, maybe with another driver: what worked before must be tried again. */
  public void restart() {
    gpus.clear();
    retryAtMs = Long.MIN_VALUE;
  }

  /**
   * Returns what can be limited. Tries the GPUs that are new or could not be limited.
   *
   * @param indexes of the GPUs that are present, without those in MIG mode
   * @throws NvmlException if NVML itself is gone
   */
  public NodeLimits probe(Nvml session, Map<GpuInfo, Integer> indexes) {
    if (!options.required()) {
      return NodeLimits.NONE;
    }
    long nowMs = clockMs.getAsLong();
    if (nowMs >= retryAtMs) {
      retryAtMs = nowMs + RETRY_MS;
      Toolkit now = toolkits.read();
      boolean changed = !now.equals(toolkit);
      toolkit = now;
      gpus.values().removeIf(support -> changed || support instanceof LimitSupport.Unavailable);
    }
    gpus.keySet().retainAll(indexes.keySet().stream().map(GpuInfo::uuid).toList());
    indexes.forEach(
        (gpu, index) -> gpus.computeIfAbsent(gpu.uuid(), u -> probe(session, gpu, index)));
    return new NodeLimits(true, options.byPlugin(), options.optOut(), toolkit, gpus);
  }

  private LimitSupport probe(Nvml session, GpuInfo gpu, int index) {
    if (!Files.exists(options.cgroups().resolve("cgroup.controllers"))) {
      return new LimitSupport.Unavailable(
          "n/a: cgroup v1: %s is not cgroup v2, which the driver needs; boot the node with cgroup v2 (systemd.unified_cgroup_hierarchy=1)"
              .formatted(options.cgroups()));
    }
    if (gpu.usableBytes() == 0) {
      return new LimitSupport.Unavailable(
          "NVML does not report the memory of GPU %s, so a share of it is unknown; set memoryLimits to auto on this node"
              .formatted(gpu.number()));
    }
    Path cgroup = pods().resolve(CGROUP);
    try {
      Path below = cgroup.resolve(BELOW);
      if (!Files.isDirectory(below)) {
        Files.createDirectories(below);
      }
      try {
        return probe(session, index, cgroup, below);
      } finally {
        Files.deleteIfExists(below);
        Files.deleteIfExists(cgroup);
      }
    } catch (IOException e) {
      return new LimitSupport.Unavailable(
          "the plugin cannot make and remove the cgroup %s: %s; mount the host's cgroup folder there, writable, as the chart does with memoryLimits=required"
              .formatted(cgroup, e));
    }
  }

  private Path pods() {
    return PODS.stream()
        .map(options.cgroups()::resolve)
        .filter(Files::isDirectory)
        .findFirst()
        .orElse(options.cgroups());
  }

  private static LimitSupport probe(Nvml session, int index, Path cgroup, Path below) {
    try {
      session.memoryLimit(index, cgroup, LIMIT);
      Optional<MemoryLimit> readBack = read(session, index, cgroup);
      boolean inherited = inherits(session, index, below);
      session.memoryLimit(index, cgroup, MemoryLimit.NONE);
      return readBack.filter(LIMIT::equals).isPresent()
          ? new LimitSupport.Works(inherited)
          : new LimitSupport.Unavailable(
              "the driver took a limit of %d bytes and reads back %s; set memoryLimits to auto, and report this driver"
                  .formatted(
                      LIMIT.hardBytes(),
                      readBack.map(limit -> limit.hardBytes() + " bytes").orElse("none")));
    } catch (NvmlException e) {
      if (e.driverGone()) {
        throw e;
      }
      return new LimitSupport.Unavailable(reason(session, e));
    }
  }

  private static boolean inherits(Nvml session, int index, Path below) {
    try {
      return read(session, index, below).isPresent();
    } catch (NvmlException e) {
      if (e.driverGone()) {
        throw e;
      }
      // The kernel's controller has no files there, unless it is enabled for the cgroup above.
      return false;
    }
  }

  private static Optional<MemoryLimit> read(Nvml session, int index, Path cgroup) {
    return session.memoryLimit(index, cgroup).map(MemoryLimit.Reading::limit);
  }

  private static String reason(Nvml session, NvmlException e) {
    if (e.functionMissing()) {
      return "driver %s has no memory limits; install a driver of the branch R615 or newer"
          .formatted(session.driverVersion());
    }
    if (e.noPermission()) {
      return "%s; the plugin needs the capability SYS_ADMIN in the node's user namespace, as the chart gives it with memoryLimits=required"
          .formatted(e.getMessage());
    }
    return e.notSupported()
        ? "%s; the GPU needs memory of its own, and the kernel the controller dmem (Linux 6.14 or newer) or misc"
            .formatted(e.getMessage())
        : "%s; check dmesg on the node".formatted(e.getMessage());
  }
}
