package dev.tranche.nodeplugin.nvml;

/**
 * What NVML's GPU performance monitoring (GPM) says of a GPU or MIG device. Only Hopper and newer
 * have it. It measures how much of the hardware works, while NVML's utilization is the part of the
 * time in which any kernel ran.
 */
public sealed interface Gpm {
  /**
   * Values of the time between two samples, in percent. A single one that NVML does not tell is
   * NaN.
   *
   * @param graphicsPercent part of the time in which a kernel ran, which NVML's utilization is too
   * @param smPercent part of the SMs that were busy
   * @param smOccupancyPercent part of the possible warps that were active
   * @param tensorPercent part of the time in which tensor cores worked
   * @param dramPercent part of the memory bandwidth that was used
   */
  record Values(
      double graphicsPercent,
      double smPercent,
      double smOccupancyPercent,
      double tensorPercent,
      double dramPercent)
      implements Gpm {}

  /**
   * There are no values now.
   *
   * @param reason a part of a sentence
   */
  record Unavailable(String reason) implements Gpm {
    /** This GPU or driver has no GPM. */
    public static final Unavailable UNSUPPORTED = new Unavailable("this GPU or driver has no GPM");

    /** Values are of the time between two samples, and there is only one so far. */
    public static final Unavailable PENDING =
        new Unavailable("only one GPM sample has been taken so far");
  }
}
