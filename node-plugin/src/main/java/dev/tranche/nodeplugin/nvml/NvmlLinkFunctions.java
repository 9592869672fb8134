package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Pointer;

/** Functions of the topology; bound apart, since without them everything else still works. */
final class NvmlLinkFunctions {
  private NvmlLinkFunctions() {}

  static native int nvmlDeviceGetTopologyCommonAncestor(long device, long other, Pointer level);

  static native int nvmlDeviceGetNvLinkState(long device, int link, Pointer active);

  static native int nvmlDeviceGetNvLinkRemotePciInfo_v2(long device, int link, Pointer pci);
}
