package dev.tranche.nodeplugin.nvml;

/** The return codes of NVML that the plugin distinguishes. */
final class NvmlCode {
  static final int SUCCESS = 0;
  static final int NOT_SUPPORTED = 3;
  static final int NO_PERMISSION = 4;
  static final int NOT_FOUND = 6;
  static final int INSUFFICIENT_SIZE = 7;
  static final int TIMEOUT = 10;
  static final int LIBRARY_NOT_FOUND = 12;
  static final int FUNCTION_NOT_FOUND = 13;
  static final int ARGUMENT_VERSION_MISMATCH = 25;
  static final int UNINITIALIZED = 1;
  static final int DRIVER_NOT_LOADED = 9;
  static final int GPU_IS_LOST = 15;
  static final int RESET_REQUIRED = 16;
  static final int LIB_RM_VERSION_MISMATCH = 18;

  private static final String CURE =
      "; where the nvidia runtime is not the default, set the chart value runtimeClassName=nvidia,"
          + " or set nvidiaDriverRoot to where the driver is installed";

  private NvmlCode() {}

  /** This GPU or driver does not support the call at all. */
  static boolean unsupported(int code) {
    return code == NOT_SUPPORTED || code == FUNCTION_NOT_FOUND;
  }

  /** Returns what a person should check when NVML does not start, whatever the code. */
  static String startAdvice(int code) {
    return code == LIB_RM_VERSION_MISMATCH
        ? advice(code)
        : "; check that the nvidia kernel module is loaded (nvidia-smi on the host) and that the"
            + " device nodes /dev/nvidia* are in the container, since the library fails without them"
            + CURE;
  }

  /** Returns what a person should check, as a suffix of NVML's text; empty if no help is known. */
  static String advice(int code) {
    return switch (code) {
      case LIBRARY_NOT_FOUND ->
          "; check that the driver is installed and its root is mounted at --driver-root-ctr-path"
              + CURE;
      case LIB_RM_VERSION_MISMATCH ->
          "; the library and the kernel module differ: reboot the node or reload the module";
      case NO_PERMISSION ->
          "; the driver answers this to privileged callers only, where MIG is on: give the container"
              + " the capability SYS_ADMIN and NVIDIA_MIG_MONITOR_DEVICES=all, as the chart does for"
              + " migStrategy single and mixed, or turn MIG off (nvidia-smi -mig 0)";
      case GPU_IS_LOST, RESET_REQUIRED ->
          "; check dmesg for the GPU's XID and reset it (nvidia-smi -r) or reboot the node";
      default -> "";
    };
  }
}
