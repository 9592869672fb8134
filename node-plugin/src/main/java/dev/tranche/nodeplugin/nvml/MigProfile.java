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
   * Names one. NVML's product name has it at its end; only a driver that does not say it there
   * makes us compute it, and then without its extensions ({@code +me}), which no figure tells.
   *
   * @param model as NVML calls the MIG device
   * @param gpuSlices of its GPU instance
   * @param computeSlices of its own
   * @param memoryBytes of its own
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

  // NVIDIA's figure is the nominal eighth of the GPU's memory, rather than what is left of it.
  private static long gigabytes(long memoryBytes, long parentBytes) {
    double eighths = Math.ceil((double) memoryBytes / parentBytes * EIGHTHS);
    long parentGb = (parentBytes + GIB - 1) / GIB;
    return Math.round(eighths / EIGHTHS * parentGb);
  }
}
