package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.load.Load;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.usage.ContainerUse;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One GPU at one moment.
 *
 * @param load null when nothing could be read: absence is never zero load
 * @param uses of containers whose processes could be told apart; in sum no more than the load
 */
public record GpuStatus(GpuInfo info, Health health, @Nullable Load load, List<ContainerUse> uses) {
  public GpuStatus {
    uses = List.copyOf(uses);
  }

  /** One that tells no containers apart. */
  public GpuStatus(GpuInfo info, Health health, @Nullable Load load) {
    this(info, health, load, List.of());
  }

  /** NVML shows it no more. */
  GpuStatus gone(String reason) {
    return new GpuStatus(info, health.gone(reason), null);
  }

  /** Whether a scheduler should hear of the step from another status before the next heartbeat. */
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
