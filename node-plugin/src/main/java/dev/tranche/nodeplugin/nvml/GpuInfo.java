package dev.tranche.nodeplugin.nvml;

/**
 * What does not change about a GPU.
 *
 * @param index NVML's, from 0
 * @param minor of /dev/nvidiaN
 * @param memoryReservedBytes kept by the driver; 0 where an old driver does not say
 * @param numaNode -1: unknown
 * @param computeMajor of the CUDA compute capability: 7 is Volta and Turing; 0: unknown
 */
public record GpuInfo(
    int index,
    String uuid,
    String model,
    int minor,
    String pciBusId,
    long memoryTotalBytes,
    long memoryReservedBytes,
    int numaNode,
    int computeMajor) {
  /** One of an unknown architecture. */
  public GpuInfo(
      int index,
      String uuid,
      String model,
      int minor,
      String pciBusId,
      long memoryTotalBytes,
      long memoryReservedBytes,
      int numaNode) {
    this(index, uuid, model, minor, pciBusId, memoryTotalBytes, memoryReservedBytes, numaNode, 0);
  }
}
