package dev.tranche.nodeplugin.nvml;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The properties of a GPU or a MIG device that do not change.
 *
 * @param index NVML's, from 0; of a MIG device, its GPU's
 * @param minor the N of /dev/nvidiaN
 * @param memoryTotalBytes 0: unknown
 * @param memoryReservedBytes kept by the driver; 0 where an old driver does not say
 * @param numaNode -1: unknown
 * @param computeMajor of the CUDA compute capability: 7 is Volta and Turing; 0: unknown
 * @param mig {@link Mig#OFF} for a GPU with MIG off
 */
public record GpuInfo(
    int index,
    String uuid,
    String model,
    int minor,
    long memoryTotalBytes,
    long memoryReservedBytes,
    int numaNode,
    int computeMajor,
    Mig mig) {
  private static final int VOLTA_MAJOR = 7;
  private static final int CLIENTS_SINCE_VOLTA = 48;
  private static final int CLIENTS_BEFORE_VOLTA = 16;

  /** The same device under another index. */
  public GpuInfo withIndex(int other) {
    return new GpuInfo(
        other,
        uuid,
        model,
        minor,
        memoryTotalBytes,
        memoryReservedBytes,
        numaNode,
        computeMajor,
        mig);
  }

  /** Returns the memory that programs can use; 0: unknown. */
  public long usableBytes() {
    return Math.max(0, memoryTotalBytes - memoryReservedBytes);
  }

  /** What makes this a MIG device; empty for a GPU. */
  public Optional<Mig.Device> migDevice() {
    return mig instanceof Mig.Device device ? Optional.of(device) : Optional.empty();
  }

  /** Returns how many clients an MPS server takes; the fewer if the architecture is unknown. */
  public int mpsClientsMax() {
    return computeMajor >= VOLTA_MAJOR ? CLIENTS_SINCE_VOLTA : CLIENTS_BEFORE_VOLTA;
  }

  /** Returns its uuid, or that of a MIG device's GPU. */
  public String gpuUuid() {
    return migDevice().map(Mig.Device::parentUuid).orElse(uuid);
  }

  /** How people and NVIDIA's tools number it: {@code 0}, or {@code 0:1} for a MIG device. */
  public String number() {
    return migDevice()
        .map(device -> index + ":" + device.index())
        .orElseGet(() -> Integer.toString(index));
  }

  /** The device nodes that are this device's own, as a container sees them. */
  public List<String> nodes() {
    List<String> nodes = new ArrayList<>(List.of("/dev/nvidia" + minor));
    migDevice().ifPresent(device -> nodes.addAll(device.capNodes()));
    return nodes;
  }
}
