package dev.tranche.simulate;

import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Load;
import dev.tranche.nodeplugin.health.Fault;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.usage.ContainerUse;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One GPU of a machine, as NVML shows it. */
final class GpuModel {
  private static final long MEMORY_BYTES = 80L << 30;
  private static final int COMPUTE_MAJOR = 9;

  final String uuid;
  final String model;
  int index;
  private final EventQueue queue;
  private Health health = new Health.Healthy();
  private @Nullable Load load;
  private long unhealthySinceMs;

  GpuModel(String uuid, String model, int index, EventQueue queue) {
    this.uuid = uuid;
    this.model = model;
    this.index = index;
    this.queue = queue;
  }

  /** Whether it has been unhealthy for so long. */
  boolean unhealthyFor(long ms) {
    return !healthy() && queue.nowMs() - unhealthySinceMs >= ms;
  }

  boolean healthy() {
    return health.healthy();
  }

  void lose() {
    unhealthySinceMs = queue.nowMs();
    health = health.afterLoss("the GPU does not answer");
  }

  void fail(long nowMs) {
    unhealthySinceMs = queue.nowMs();
    health = health.afterFault(Fault.ofXid(31), nowMs);
  }

  void recover() {
    health = new Health.Healthy();
  }

  static long bytes(int replicas, int of) {
    return MEMORY_BYTES / of * replicas;
  }

  /** Returns a sample of what containers use. */
  GpuStatus sample(List<ContainerUse> uses, long nowMs) {
    var info = new GpuInfo(index, uuid, model, index, MEMORY_BYTES, 0, -1, COMPUTE_MAJOR, Mig.OFF);
    if (!health.answers()) {
      load = null;
      return new GpuStatus(info, health, null);
    }
    long wanted = uses.stream().mapToLong(ContainerUse::memoryUsedBytes).sum();
    long used = Math.min(MEMORY_BYTES, wanted);
    int sm = Math.min(100, 10 * uses.size());
    load = Load.next(load, new GpuReading(used, sm, uses.size()), nowMs);
    return new GpuStatus(info, health, load, uses);
  }
}
