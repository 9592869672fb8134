package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * NVML's functions by name. Handles are passed as addresses, and structs are read from memory by
 * offset. Each function is looked up separately: old drivers lack some, and new drivers drop
 * deprecated ones.
 */
final class NvmlFunctions {
  /** Functions that placement cannot do without. */
  static final List<String> REQUIRED =
      List.of(
          "nvmlInit_v2",
          "nvmlShutdown",
          "nvmlErrorString",
          "nvmlDeviceGetCount_v2",
          "nvmlDeviceGetHandleByIndex_v2",
          "nvmlDeviceGetUUID",
          "nvmlDeviceGetName",
          "nvmlDeviceGetMinorNumber");

  /** Functions that a driver may lack; its GPUs are advertised all the same. */
  static final List<String> OPTIONAL =
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
          "nvmlEventSetWait_v2",
          "nvmlDeviceGetMigMode",
          "nvmlDeviceGetMaxMigDeviceCount",
          "nvmlDeviceGetMigDeviceHandleByIndex",
          "nvmlDeviceGetGpuInstanceId",
          "nvmlDeviceGetComputeInstanceId",
          "nvmlDeviceGetAttributes_v2",
          "nvmlDeviceGetTopologyCommonAncestor",
          "nvmlDeviceGetNvLinkState",
          "nvmlDeviceGetNvLinkRemotePciInfo_v2",
          "nvmlGpmQueryDeviceSupport",
          "nvmlGpmSampleAlloc",
          "nvmlGpmSampleFree",
          "nvmlGpmSampleGet",
          "nvmlGpmMetricsGet",
          "nvmlDeviceGetMemoryLimits_v1");

  private final Map<String, Function> found = new HashMap<>();

  /**
   * @throws NvmlException if the library lacks one that is required
   */
  NvmlFunctions(NativeLibrary library) {
    try {
      REQUIRED.forEach(name -> found.put(name, library.getFunction(name)));
    } catch (UnsatisfiedLinkError e) {
      throw new NvmlException(
          NvmlCode.LIBRARY_NOT_FOUND,
          library.getFile() + " is too old for Tranche: " + e.getMessage());
    }
    for (String name : OPTIONAL) {
      try {
        found.put(name, library.getFunction(name));
      } catch (UnsatisfiedLinkError missing) {
        // A call then returns FUNCTION_NOT_FOUND, as from a driver that lacks it.
      }
    }
  }

  /** NVML's return code; {@link NvmlCode#FUNCTION_NOT_FOUND} where the library lacks it. */
  int call(String name, Object... arguments) {
    Function function = found.get(name);
    return function == null ? NvmlCode.FUNCTION_NOT_FOUND : function.invokeInt(arguments);
  }

  /** What to throw for a return code. */
  NvmlException failure(int result, String what, String advice) {
    Function errorString = Objects.requireNonNull(found.get("nvmlErrorString"));
    String text = errorString.invokeString(new Object[] {result}, false);
    return new NvmlException(result, what + ": " + text + " (NVML code " + result + ")" + advice);
  }
}
