package dev.tranche.nodeplugin.nvml;

/**
 * What NVML's GPU performance monitoring (GPM) says of a GPU or MIG device, in percent of the time
 * between two samples; what it does not tell is NaN. Only Hopper and newer have it. It measures how
 * much of the hardware works, while NVML's utilization is the part of the time in which any kernel
 * ran.
 *
 * @param graphicsPercent part of the time in which a kernel ran, which NVML's utilization is too
 * @param smPercent part of the SMs that were busy
 * @param smOccupancyPercent part of the possible warps that were active
 * @param tensorPercent part of the time in which tensor cores worked
 * @param dramPercent part of the memory bandwidth that was used
 */
public record Gpm(
    double graphicsPercent,
    double smPercent,
    double smOccupancyPercent,
    double tensorPercent,
    double dramPercent) {
  /** There are no values, or none yet. */
  public static final Gpm UNKNOWN =
      new Gpm(Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN);
}
