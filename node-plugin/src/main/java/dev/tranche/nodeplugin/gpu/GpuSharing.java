package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.config.Sharing.SharedResource;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.nvml.GpuInfo;

/**
 * How one GPU is advertised.
 *
 * @param resource the extended resource of its replicas
 * @param replicas R, at least 1; 1: not shared
 * @param strategy {@code NONE} exactly when not shared
 * @param failRequestsGreaterThanOne refuse containers that ask for more than one replica
 */
public record GpuSharing(
    String resource, int replicas, SharingStrategy strategy, boolean failRequestsGreaterThanOne) {
  /** Returns the sharing of a GPU that is not shared. */
  public static GpuSharing unshared(String resource) {
    return new GpuSharing(resource, 1, SharingStrategy.NONE, false);
  }

  static GpuSharing of(SharedResource entry) {
    return entry.replicas() == 1
        ? unshared(entry.name())
        : new GpuSharing(
            entry.advertised(),
            entry.replicas(),
            entry.strategy(),
            entry.failRequestsGreaterThanOne());
  }

  /**
   * Returns whether shares of this GPU can have a memory limit of the driver's. MPS has limits of
   * its own, and a MIG device has memory of its own.
   */
  public boolean takesLimits(GpuInfo gpu) {
    return strategy == SharingStrategy.TIME_SLICING && gpu.migDevice().isEmpty();
  }

  public boolean shared() {
    return replicas > 1;
  }
}
