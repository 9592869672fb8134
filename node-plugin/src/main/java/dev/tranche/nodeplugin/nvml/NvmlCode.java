package dev.tranche.nodeplugin.nvml;

/** NVML's return codes, as far as they make a difference to us. */
final class NvmlCode {
  static final int SUCCESS = 0;
  static final int NOT_SUPPORTED = 3;
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

  /** This GPU or driver does not have that at all. */
  static boolean unsupported(int code) {
    return code == NOT_SUPPORTED || code == FUNCTION_NOT_FOUND;
  }

  /** What a person should look at when NVML does not start, whichever code it gives for that. */
  static String startAdvice(int code) {
    return code == LIB_RM_VERSION_MISMATCH
        ? advice(code)
        : "; check that the nvidia kernel module is loaded (nvidia-smi on the host) and that the"
            + " device nodes /dev/nvidia* are in the container, since the library fails without them"
            + CURE;
  }

  /** What a person should look at, to follow NVML's text; empty where nothing is known to help. */
  static String advice(int code) {
    return switch (code) {
      case LIBRARY_NOT_FOUND ->
          "; check that the driver is installed and its root is mounted at --driver-root-ctr-path"
              + CURE;
      case LIB_RM_VERSION_MISMATCH ->
          "; the library and the kernel module differ: reboot the node or reload the module";
      case GPU_IS_LOST, RESET_REQUIRED ->
          "; check dmesg for the GPU's XID and reset it (nvidia-smi -r) or reboot the node";
      default -> "";
    };
  }
}
