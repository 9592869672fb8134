package dev.tranche.nodeplugin.usage;

import dev.tranche.nodeplugin.nvml.GpuReading;

/**
 * What one container uses of one GPU, by all of its processes there.
 *
 * @param memoryUsedBytes {@link GpuReading#UNKNOWN} if the driver does not tell that of one of them
 * @param smPercent 0 to 100, of the whole GPU; NaN where its processes are not known
 */
public record ContainerUse(ContainerName container, long memoryUsedBytes, double smPercent) {
  public ContainerUse plus(ContainerUse other) {
    boolean known = memoryUsedBytes >= 0 && other.memoryUsedBytes >= 0;
    long memory = known ? memoryUsedBytes + other.memoryUsedBytes : GpuReading.UNKNOWN;
    return new ContainerUse(container, memory, smPercent + other.smPercent);
  }
}
