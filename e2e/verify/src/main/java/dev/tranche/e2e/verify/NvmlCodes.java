package dev.tranche.e2e.verify;

import java.util.Map;

/** NVML's names for its return codes. */
final class NvmlCodes {
  static final int SUCCESS = 0;
  static final int INVALID_ARGUMENT = 2;
  static final int NOT_SUPPORTED = 3;
  static final int NO_PERMISSION = 4;
  static final int NOT_FOUND = 6;
  static final int INSUFFICIENT_SIZE = 7;
  static final int TIMEOUT = 10;
  static final int FUNCTION_NOT_FOUND = 13;

  private static final Map<Integer, String> NAMES =
      Map.ofEntries(
          Map.entry(SUCCESS, "SUCCESS"),
          Map.entry(1, "UNINITIALIZED"),
          Map.entry(INVALID_ARGUMENT, "INVALID_ARGUMENT"),
          Map.entry(NOT_SUPPORTED, "NOT_SUPPORTED"),
          Map.entry(NO_PERMISSION, "NO_PERMISSION"),
          Map.entry(NOT_FOUND, "NOT_FOUND"),
          Map.entry(INSUFFICIENT_SIZE, "INSUFFICIENT_SIZE"),
          Map.entry(9, "DRIVER_NOT_LOADED"),
          Map.entry(TIMEOUT, "TIMEOUT"),
          Map.entry(12, "LIBRARY_NOT_FOUND"),
          Map.entry(FUNCTION_NOT_FOUND, "FUNCTION_NOT_FOUND"),
          Map.entry(15, "GPU_IS_LOST"),
          Map.entry(16, "RESET_REQUIRED"),
          Map.entry(17, "OPERATING_SYSTEM"),
          Map.entry(18, "LIB_RM_VERSION_MISMATCH"),
          Map.entry(25, "ARGUMENT_VERSION_MISMATCH"),
          Map.entry(999, "UNKNOWN"));

  private NvmlCodes() {}

  static String name(int code) {
    return NAMES.getOrDefault(code, "code " + code);
  }

  /** Returns whether a code means that this driver or GPU lacks the function. */
  static boolean unsupported(int code) {
    return code == NOT_SUPPORTED || code == FUNCTION_NOT_FOUND;
  }
}
