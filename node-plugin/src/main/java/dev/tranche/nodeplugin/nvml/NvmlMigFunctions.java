package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Pointer;

/** Functions of MIG, which drivers before 450 lack. */
final class NvmlMigFunctions {
  private NvmlMigFunctions() {}

  static native int nvmlDeviceGetMigMode(long device, Pointer current, Pointer pending);

  static native int nvmlDeviceGetMaxMigDeviceCount(long device, Pointer count);

  static native int nvmlDeviceGetMigDeviceHandleByIndex(long device, int index, Pointer handle);

  static native int nvmlDeviceGetGpuInstanceId(long device, Pointer id);

  static native int nvmlDeviceGetComputeInstanceId(long device, Pointer id);

  static native int nvmlDeviceGetAttributes_v2(long device, Pointer attributes);
}
