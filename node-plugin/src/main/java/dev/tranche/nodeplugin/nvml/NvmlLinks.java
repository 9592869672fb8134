package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;

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

  private record PciAddress(int domain, int bus, int device) {}

  NvmlLinks(NvmlFunctions functions) {
    this.functions = functions;
  }

  /** The link from one GPU to another. */
  GpuLink between(long device, long other) {
    return new GpuLink(nvLinks(device, other), level(device, other));
  }

  private int level(long device, long other) {
    return functions.succeeds("nvmlDeviceGetTopologyCommonAncestor", device, other, scratch)
        ? scratch.getInt(0)
        : GpuLink.UNKNOWN_LEVEL;
  }

  private int nvLinks(long device, long other) {
    int count = 0;
    if (functions.succeeds("nvmlDeviceGetPciInfo_v3", other, scratch)) {
      PciAddress address = address();
      for (int link = 0; link < LINKS_MAX; link++) {
        count += leadsTo(device, link, address) ? 1 : 0;
      }
    }
    return count;
  }

  private boolean leadsTo(long device, int link, PciAddress other) {
    return functions.succeeds("nvmlDeviceGetNvLinkState", device, link, scratch)
        && scratch.getInt(0) == ENABLED
        && functions.succeeds("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, scratch)
        && address().equals(other);
  }

  /** Returns the address that a call has written. */
  private PciAddress address() {
    return new PciAddress(
        scratch.getInt(PCI_DOMAIN_OFFSET),
        scratch.getInt(PCI_BUS_OFFSET),
        scratch.getInt(PCI_DEVICE_OFFSET));
  }
}
