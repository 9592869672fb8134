package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Pointer;

/**
 * The functions that placement cannot do without, under NVML's names, bound directly: handles are
 * addresses, structs are memory that {@link JnaNvml} reads by offset. Binding is all or nothing, so
 * all others are {@link NvmlOptionalFunctions}.
 */
final class NvmlFunctions {
  private NvmlFunctions() {}

  static native int nvmlInit_v2();

  static native int nvmlShutdown();

  static native String nvmlErrorString(int result);

  static native int nvmlDeviceGetCount_v2(Pointer count);

  static native int nvmlDeviceGetHandleByIndex_v2(int index, Pointer handle);

  static native int nvmlDeviceGetUUID(long device, Pointer text, int length);

  static native int nvmlDeviceGetName(long device, Pointer text, int length);

  static native int nvmlDeviceGetMinorNumber(long device, Pointer minor);
}
