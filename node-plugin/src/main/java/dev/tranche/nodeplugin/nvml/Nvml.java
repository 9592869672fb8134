package dev.tranche.nodeplugin.nvml;

import java.util.Optional;

/**
 * What we ask of NVML. GPUs are named by NVML's index, from 0. Not thread-safe: one thread talks to
 * it. Every method throws {@link NvmlException} with NVML's own text.
 */
public interface Nvml extends AutoCloseable {
  String driverVersion();

  int count();

  GpuInfo info(int index);

  /** Memory, utilization and processes now; also the probe whether a GPU answers at all. */
  GpuReading read(int index);

  /** How many processes may use the GPU at once; NVML's number, see {@link ComputeMode}. */
  int computeMode(int index);

  /** Sets it, as root only. */
  void computeMode(int index, int mode);

  /**
   * Asks for the critical errors (XIDs) of a GPU.
   *
   * @return false if this GPU reports none
   */
  boolean watch(int index);

  /** The next error of a watched GPU; empty after that time without one. */
  Optional<GpuEvent> awaitEvent(int timeoutMs);

  @Override
  void close();
}
