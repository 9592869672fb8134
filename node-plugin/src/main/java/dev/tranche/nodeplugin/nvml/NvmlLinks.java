package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;
import dev.tranche.nodeplugin.nvml.GpuLink.Ancestor;

/** Reads how GPUs are connected. What NVML does not tell is unknown, and not an error. */
final class NvmlLinks {
  // NVML_NVLINK_MAX_LINKS; a driver that knows of fewer refuses the others.
  private static final int LINKS_MAX = 36;
  private static final int ENABLED = 1;
  // nvmlPciInfo_t: domain, bus and device come after the legacy address.
  private static final int PCI_BYTES = 68;
  private static final int PCI_DOMAIN_OFFSET = 16;
  private static final int PCI_BUS_OFFSET = 20;
  private static final int PCI_DEVICE_OFFSET = 24;

  private final Memory scratch = new Memory(PCI_BYTES);
  private final NvmlFunctions functions;

  NvmlLinks(NvmlFunctions functions) {
    this.functions = functions;
  }

  /** The link from one GPU to another. */
  GpuLink between(long device, long other, PciAddress otherAddress) {
    return new GpuLink(nvLinks(device, otherAddress), ancestor(device, other));
  }

  private Ancestor ancestor(long device, long other) {
    int result = functions.call("nvmlDeviceGetTopologyCommonAncestor", device, other, scratch);
    return result == NvmlCode.SUCCESS ? ancestor(scratch.getInt(0)) : Ancestor.UNKNOWN;
  }

  // nvmlGpuTopologyLevel_t
  static Ancestor ancestor(int level) {
    return switch (level) {
      case 0 -> Ancestor.BOARD;
      case 10 -> Ancestor.ONE_SWITCH;
      case 20 -> Ancestor.SEVERAL_SWITCHES;
      case 30 -> Ancestor.HOST_BRIDGE;
      case 40 -> Ancestor.NUMA_NODE;
      case 50 -> Ancestor.SYSTEM;
      default -> Ancestor.UNKNOWN;
    };
  }

  private int nvLinks(long device, PciAddress other) {
    int count = 0;
    for (int link = 0; link < LINKS_MAX; link++) {
      count += leadsTo(device, link, other) ? 1 : 0;
    }
    return count;
  }

  private boolean leadsTo(long device, int link, PciAddress other) {
    return functions.succeeds("nvmlDeviceGetNvLinkState", device, link, scratch)
        && scratch.getInt(0) == ENABLED
        && functions.succeeds("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, scratch)
        && remote().equals(other);
  }

  private PciAddress remote() {
    return new PciAddress(
        scratch.getInt(PCI_DOMAIN_OFFSET),
        scratch.getInt(PCI_BUS_OFFSET),
        scratch.getInt(PCI_DEVICE_OFFSET));
  }
}
