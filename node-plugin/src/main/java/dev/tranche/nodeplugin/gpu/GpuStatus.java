package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.usage.ContainerUse;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One GPU at one moment.
 *
 * @param load null if nothing could be read, which never means zero load
 * @param uses of containers whose processes could be identified; in sum no more than the load
 */
public record GpuStatus(GpuInfo info, Health health, @Nullable Load load, List<ContainerUse> uses) {
  /** A status without use per container. */
  public GpuStatus(GpuInfo info, Health health, @Nullable Load load) {
    this(info, health, load, List.of());
  }

  public GpuStatus withHealth(Health now) {
    return new GpuStatus(info, now, load, uses);
  }

  /** Returns the status for when NVML no longer shows the GPU. */
  GpuStatus asLost(String reason) {
    return new GpuStatus(info, health.afterLoss(reason), null);
  }

  /**
   * Returns whether the change from another status should be reported before the next heartbeat.
   */
  public boolean differsFrom(GpuStatus other) {
    if (!info.equals(other.info) || !health.equals(other.health)) {
      return true;
    }
    if (load == null || other.load == null) {
      return (load == null) != (other.load == null);
    }
    return load.differsFrom(other.load, info.memoryTotalBytes());
  }
}
