package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.GpuInfo;

/** How many clients an MPS server takes, by the GPU's architecture. */
public final class MpsClientLimit {
  private static final int VOLTA_MAJOR = 7;
  private static final int SINCE_VOLTA = 48;
  private static final int BEFORE_VOLTA = 16;

  private MpsClientLimit() {}

  /** Of an architecture that is not known: the smaller one. */
  public static int of(GpuInfo gpu) {
    return gpu.computeMajor() >= VOLTA_MAJOR ? SINCE_VOLTA : BEFORE_VOLTA;
  }
}
