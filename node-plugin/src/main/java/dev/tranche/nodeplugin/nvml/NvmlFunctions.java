package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Pointer;

/**
 * NVML's functions under NVML's names, bound directly: handles are addresses, structs are memory
 * that {@link JnaNvml} reads by offset. That costs a fifth of JNA's interface mapping.
 */
final class NvmlFunctions {
  private NvmlFunctions() {}

  static native int nvmlInit_v2();

  static native int nvmlShutdown();

  static native String nvmlErrorString(int result);

  static native int nvmlSystemGetDriverVersion(Pointer text, int length);

  static native int nvmlDeviceGetCount_v2(Pointer count);

  static native int nvmlDeviceGetHandleByIndex_v2(int index, Pointer handle);

  static native int nvmlDeviceGetUUID(long device, Pointer text, int length);

  static native int nvmlDeviceGetName(long device, Pointer text, int length);

  static native int nvmlDeviceGetMinorNumber(long device, Pointer minor);

  static native int nvmlDeviceGetCudaComputeCapability(long device, Pointer major, Pointer minor);

  static native int nvmlDeviceGetComputeMode(long device, Pointer mode);

  static native int nvmlDeviceSetComputeMode(long device, int mode);

  static native int nvmlDeviceGetPciInfo_v3(long device, Pointer pci);

  static native int nvmlDeviceGetMemoryInfo(long device, Pointer memory);

  static native int nvmlDeviceGetUtilizationRates(long device, Pointer utilization);

  static native int nvmlDeviceGetTemperature(long device, int sensor, Pointer celsius);

  static native int nvmlDeviceGetPowerUsage(long device, Pointer milliwatts);

  static native int nvmlDeviceGetCurrentClocksThrottleReasons(long device, Pointer reasons);

  static native int nvmlDeviceGetTotalEccErrors(long device, int type, int counter, Pointer count);

  static native int nvmlDeviceGetProcessUtilization(
      long device, Pointer samples, Pointer count, long sinceUs);

  static native int nvmlEventSetCreate(Pointer set);

  static native int nvmlEventSetFree(long set);

  static native int nvmlDeviceGetSupportedEventTypes(long device, Pointer types);

  static native int nvmlDeviceRegisterEvents(long device, long types, long set);

  static native int nvmlEventSetWait_v2(long set, Pointer data, int timeoutMs);
}
