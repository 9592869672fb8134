package dev.tranche.nodeplugin.nvml;

/**
 * One reading of a GPU.
 *
 * @param memoryUsedBytes the driver's reserve not included
 * @param smPercent 0 to 100: how much of NVML's last period a kernel was running
 */
public record GpuReading(long memoryUsedBytes, int smPercent, int processes) {}
