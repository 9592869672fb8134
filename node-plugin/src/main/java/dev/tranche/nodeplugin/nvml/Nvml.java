package dev.tranche.nodeplugin.nvml;

import java.util.List;
import java.util.Optional;

/**
 * What we ask of NVML. GPUs are named by NVML's index, from 0. Not thread-safe: one thread talks to
 * it. Every method throws {@link NvmlException} with NVML's own text.
 */
public interface Nvml extends AutoCloseable {
  String driverVersion();

  int count();

  GpuInfo info(int index);

  /** Memory, utilization and sensors now; also the probe whether a GPU answers at all. */
  GpuReading read(int index);

  /** The MIG devices of a GPU, in NVML's order; none of a GPU that is not cut. */
  default List<GpuInfo> migDevices(GpuInfo gpu) {
    return List.of();
  }

  /** The same for a MIG device, by its number on its GPU. */
  default GpuReading readMig(int index, int mig) {
    throw new IllegalArgumentException("GPU " + index + " has no MIG device " + mig);
  }

  /** Who is on a MIG device now, by its number on its GPU. */
  default List<GpuProcess> migProcesses(int index, int mig) {
    throw new IllegalArgumentException("GPU " + index + " has no MIG device " + mig);
  }

  /** How two GPUs are connected. */
  default GpuLink link(int index, int other) {
    return GpuLink.UNKNOWN;
  }

  /** Who is on a GPU now, and how busy each has been since the last call. */
  List<GpuProcess> processes(int index);

  /**
   * Asks for the errors of a GPU: XIDs, and uncorrectable errors of its memory.
   *
   * @return false if this GPU reports none
   */
  boolean watch(int index);

  /** The next error of a watched GPU; empty after that time without one. */
  Optional<GpuEvent> awaitEvent(int timeoutMs);

  /**
   * What is known to keep NVML from starting anew once this session is closed; empty: nothing is.
   */
  default Optional<String> restartObstacle() {
    return Optional.empty();
  }

  @Override
  void close();
}
