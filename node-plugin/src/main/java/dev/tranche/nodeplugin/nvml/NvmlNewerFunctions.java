package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Pointer;

/** Functions that drivers before 510 lack; bound apart, since binding is all or nothing. */
final class NvmlNewerFunctions {
  private NvmlNewerFunctions() {}

  static native int nvmlDeviceGetMemoryInfo_v2(long device, Pointer memory);

  static native int nvmlDeviceGetComputeRunningProcesses_v3(
      long device, Pointer count, Pointer infos);

  static native int nvmlDeviceGetGraphicsRunningProcesses_v3(
      long device, Pointer count, Pointer infos);
}
