package dev.tranche.nodeplugin.nvml;

/**
 * A compute or graphics process on a GPU.
 *
 * @param pid as the PID namespace of this process shows it
 * @param memoryUsedBytes {@link GpuReading#UNKNOWN} where the driver does not say
 * @param smPercent 0 to 100, of the whole GPU, since the last call; 0 where it is not known
 */
public record GpuProcess(int pid, long memoryUsedBytes, int smPercent) {}
