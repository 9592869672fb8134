package dev.tranche.nodeplugin.nvml;

import dev.tranche.nodeplugin.file.FileAccess;
import java.nio.file.Path;
import java.util.Locale;

/** The NUMA node of a PCI device, from the kernel. */
final class NumaNodes {
  private static final int UNKNOWN = -1;

  private NumaNodes() {}

  /**
   * -1 if the kernel does not say.
   *
   * @param sys normally /sys
   * @param pciBusId as NVML writes it, with a domain of eight digits; the kernel's has four
   */
  static int of(Path sys, String pciBusId) {
    String name = pciBusId.toLowerCase(Locale.ROOT).replaceFirst("^0000(?=[0-9a-f]{4}:)", "");
    try {
      return Integer.parseInt(
          FileAccess.text(sys.resolve("bus/pci/devices/" + name + "/numa_node")));
    } catch (NumberFormatException unknown) {
      return UNKNOWN;
    }
  }
}
