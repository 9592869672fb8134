package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.NvmlException;

/** Is told of unexpected exceptions that one GPU causes. All other GPUs are read as ever. */
@FunctionalInterface
public interface GpuFailures {
  /**
   * May be called on any thread.
   *
   * @param gpu its index or uuid
   */
  void failed(String gpu, Throwable bug);

  /** Returns the reason for people. What NVML says is no bug, and anything else is told first. */
  default String reason(String gpu, RuntimeException e) {
    if (e instanceof NvmlException) {
      return String.valueOf(e.getMessage());
    }
    failed(gpu, e);
    return e.toString();
  }

  /** Returns {@link #reason(String, RuntimeException)} of a GPU at an index. */
  default String reason(int index, RuntimeException e) {
    return reason(String.valueOf(index), e);
  }
}
