package dev.tranche.nodeplugin.nvml;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The calls of NVML that the plugin uses. GPUs are identified by NVML's index, from 0. Not
 * thread-safe: only one thread may call it. Every method throws {@link NvmlException} with NVML's
 * own text.
 */
public interface Nvml extends AutoCloseable {
  String driverVersion();

  int count();

  GpuInfo info(int index);

  /** Reads memory, utilization and sensors. Also shows whether a GPU answers at all. */
  GpuReading read(int index);

  /**
   * Returns the MIG devices of a GPU, in NVML's order; none if MIG is off.
   *
   * @param leftOut is told why a device is not among them
   */
  default List<GpuInfo> migDevices(GpuInfo gpu, Consumer<String> leftOut) {
    return List.of();
  }

  /** Reads a MIG device, by its number on its GPU. */
  default GpuReading readMig(int index, int mig) {
    throw new IllegalArgumentException("GPU " + index + " has no MIG device " + mig);
  }

  /** Returns the processes on a MIG device, by its number on its GPU. */
  default List<GpuProcess> migProcesses(int index, int mig) {
    throw new IllegalArgumentException("GPU " + index + " has no MIG device " + mig);
  }

  /**
   * Returns the limit of a cgroup on a GPU. On one of the driver's two backends, a cgroup without a
   * limit answers with that of the nearest cgroup above it.
   */
  default Optional<MemoryLimit> memoryLimit(int index, Path cgroup) {
    throw new NvmlException(NvmlCode.FUNCTION_NOT_FOUND, "GPU " + index + " tells no memory limit");
  }

  /** How two GPUs are connected. */
  default GpuLink link(int index, int other) {
    return GpuLink.UNKNOWN;
  }

  /** Returns the processes on a GPU, and how busy each has been since the last call. */
  List<GpuProcess> processes(int index);

  /**
   * Ends all subscriptions to errors. One lost GPU may end the waits for the errors of all, so that
   * the others must be subscribed to anew.
   */
  default void unwatchAll() {}

  /**
   * Subscribes to the errors of a GPU: XIDs, and uncorrectable errors of its memory.
   *
   * @return false if this GPU reports none
   */
  boolean watch(int index);

  /** Waits for the next error of a watched GPU; empty if none comes in that time. */
  Optional<GpuEvent> awaitEvent(int timeoutMs);

  @Override
  void close();
}
