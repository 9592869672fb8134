package dev.tranche.nodeplugin.nvml;

/**
 * The memory of a GPU.
 *
 * @param totalBytes 0: unknown
 * @param reservedBytes kept by the driver; 0 where an old driver does not say
 * @param usedBytes the driver's reserve not included; {@link GpuReading#UNKNOWN} where NVML does
 *     not say
 */
record GpuMemory(long totalBytes, long reservedBytes, long usedBytes) {
  static final GpuMemory UNKNOWN = new GpuMemory(0, 0, GpuReading.UNKNOWN);
}
