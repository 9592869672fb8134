package dev.tranche.nodeplugin.nvml;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The PCIe address of a device. */
record PciAddress(int domain, int bus, int device) {
  private static final Pattern TEXT =
      Pattern.compile("([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\\..*");
  private static final PciAddress NONE = new PciAddress(-1, -1, -1);

  /** Parses NVML's text, {@code 00000000:3B:00.0}; any other text gives an address of no device. */
  static PciAddress parse(String busId) {
    Matcher match = TEXT.matcher(busId);
    return match.matches()
        ? new PciAddress(
            Integer.parseUnsignedInt(match.group(1), 16),
            Integer.parseInt(match.group(2), 16),
            Integer.parseInt(match.group(3), 16))
        : NONE;
  }
}
