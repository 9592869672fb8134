package dev.tranche.nodeplugin.nvml;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** NVIDIA's name for the size of a MIG device, which is at the end of NVML's product name. */
final class MigProfile {
  private static final Pattern AT_THE_END =
      Pattern.compile(".* MIG ((?:\\d+c\\.)?\\d+g\\.\\d+gb(?:[+-][\\w.,]+)?)");

  private MigProfile() {}

  /**
   * @param model as NVML calls the MIG device
   */
  static String of(String model) {
    Matcher named = AT_THE_END.matcher(model);
    if (!named.matches()) {
      throw new NvmlException(
          NvmlCode.NOT_SUPPORTED,
          "the driver does not say the profile of the MIG device \"" + model + "\"; update it");
    }
    return named.group(1);
  }
}
