package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.nvml.GpuInfo;

/** How many clients an MPS server takes, by the GPU's architecture. */
public final class MpsClientLimit {
  private static final int VOLTA_MAJOR = 7;
  private static final int SINCE_VOLTA = 48;
  private static final int BEFORE_VOLTA = 16;

  private MpsClientLimit() {}

  /** Returns 0, no limit, for a GPU that is not shared by MPS. */
  public static int of(GpuSharing how, GpuInfo gpu) {
    return how.strategy() == SharingStrategy.MPS ? of(gpu) : 0;
  }

  /** Returns the limit of a GPU; the smaller one if the architecture is unknown. */
  public static int of(GpuInfo gpu) {
    return gpu.computeMajor() >= VOLTA_MAJOR ? SINCE_VOLTA : BEFORE_VOLTA;
  }
}
