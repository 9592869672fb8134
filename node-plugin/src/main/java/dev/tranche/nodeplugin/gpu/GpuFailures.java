package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.process.meters.Failures;

/** What ends the work on one GPU. Whatever it is, all other GPUs are read. */
record GpuFailures(Failures failures) {
  /**
   * Returns the reason for people. A bug is counted and logged.
   *
   * @param gpu its index or uuid
   * @throws NvmlException if NVML itself is gone
   */
  String reason(String gpu, RuntimeException e) {
    NvmlException.rethrowIfDriverGone(e);
    if (e instanceof NvmlException nvml) {
      return nvml.getMessage();
    }
    failures.failed(Failures.GPU, "GPU " + gpu, e);
    return e.toString();
  }
}
