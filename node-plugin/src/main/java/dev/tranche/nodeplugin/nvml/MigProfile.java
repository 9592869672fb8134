package dev.tranche.nodeplugin.nvml;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** NVIDIA's name for the size of a MIG device. */
final class MigProfile {
  private static final Pattern AT_THE_END =
      Pattern.compile(".* MIG ((?:\\d+c\\.)?\\d+g\\.\\d+gb(?:[+-][\\w.,]+)?)");
  private static final int EIGHTHS = 8;
  private static final long GIB = 1L << 30;

  private MigProfile() {}

  /**
   * Returns the profile, which is at the end of NVML's product name. If a driver does not give it
   * there, computes it from the figures. They do not show extensions ({@code +me}), which are then
   * missing.
   *
   * @param model as NVML calls the MIG device
   * @param gpuSlices slices of its GPU instance
   * @param computeSlices slices of its compute instance
   * @param memoryBytes memory of the MIG device
   * @param parentBytes memory of its whole GPU
   */
  static String of(
      String model, int gpuSlices, int computeSlices, long memoryBytes, long parentBytes) {
    Matcher named = AT_THE_END.matcher(model);
    if (named.matches()) {
      return named.group(1);
    }
    String compute = computeSlices == gpuSlices ? "" : computeSlices + "c.";
    return compute + gpuSlices + "g." + gigabytes(memoryBytes, parentBytes) + "gb";
  }

  // NVIDIA's figure is in nominal eighths of the GPU's memory, not what is usable of it.
  private static long gigabytes(long memoryBytes, long parentBytes) {
    double eighths = Math.ceil((double) memoryBytes / parentBytes * EIGHTHS);
    long parentGb = (parentBytes + GIB - 1) / GIB;
    return Math.round(eighths / EIGHTHS * parentGb);
  }
}
