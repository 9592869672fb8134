package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Functions that a driver may lack without keeping its GPUs from being advertised. Each is looked
 * up alone: old drivers lack some, and new ones drop those that are deprecated.
 */
final class NvmlOptionalFunctions {
  static final List<String> NAMES =
      List.of(
          "nvmlSystemGetDriverVersion",
          "nvmlDeviceGetCudaComputeCapability",
          "nvmlDeviceGetComputeMode",
          "nvmlDeviceSetComputeMode",
          "nvmlDeviceGetPciInfo_v3",
          "nvmlDeviceGetMemoryInfo",
          "nvmlDeviceGetMemoryInfo_v2",
          "nvmlDeviceGetAddressingMode",
          "nvmlDeviceGetUtilizationRates",
          "nvmlDeviceGetTemperature",
          "nvmlDeviceGetPowerUsage",
          "nvmlDeviceGetCurrentClocksThrottleReasons",
          "nvmlDeviceGetTotalEccErrors",
          "nvmlDeviceGetComputeRunningProcesses_v3",
          "nvmlDeviceGetGraphicsRunningProcesses_v3",
          "nvmlDeviceGetMPSComputeRunningProcesses_v3",
          "nvmlDeviceGetProcessUtilization",
          "nvmlEventSetCreate",
          "nvmlEventSetFree",
          "nvmlDeviceGetSupportedEventTypes",
          "nvmlDeviceRegisterEvents",
          "nvmlEventSetWait_v2");

  private final Map<String, Function> found = new HashMap<>();

  NvmlOptionalFunctions(NativeLibrary library) {
    for (String name : NAMES) {
      try {
        found.put(name, library.getFunction(name));
      } catch (UnsatisfiedLinkError missing) {
        // Whoever calls it is answered as by a driver that lacks it.
      }
    }
  }

  /** NVML's return code; {@link NvmlCode#FUNCTION_NOT_FOUND} where the library lacks it. */
  int call(String name, Object... arguments) {
    Function function = found.get(name);
    return function == null ? NvmlCode.FUNCTION_NOT_FOUND : function.invokeInt(arguments);
  }
}
