package dev.tranche.nodeplugin.nvml;

import java.util.Objects;

/** An NVML call failed; the message has NVML's own text and what to check. */
public final class NvmlException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int code;

  public NvmlException(int code, String message) {
    super(message);
    this.code = code;
  }

  @Override
  public String getMessage() {
    return Objects.requireNonNull(super.getMessage());
  }

  /** The GPU has fallen off the bus, or no longer answers. */
  public boolean lost() {
    return code == NvmlCode.GPU_IS_LOST || code == NvmlCode.RESET_REQUIRED;
  }

  /** Throws an exception again if NVML itself is gone, which no work on one GPU can survive. */
  public static void rethrowIfDriverGone(RuntimeException e) {
    if (e instanceof NvmlException nvml && nvml.driverGone()) {
      throw nvml;
    }
  }

  /** The driver is older than the call. */
  public boolean functionMissing() {
    return code == NvmlCode.FUNCTION_NOT_FOUND;
  }

  /** The driver, or this GPU, does not have what was asked for; it will not have it later. */
  boolean unsupported() {
    return NvmlCode.unsupported(code);
  }

  /** NVML itself is gone, for example while a driver is reloaded, and must be started again. */
  private boolean driverGone() {
    return code == NvmlCode.UNINITIALIZED
        || code == NvmlCode.DRIVER_NOT_LOADED
        || code == NvmlCode.LIB_RM_VERSION_MISMATCH;
  }
}
