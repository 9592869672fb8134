package dev.tranche.nodeplugin.nvml;

/**
 * How much of a GPU's memory the processes of a cgroup can have, as the driver tells it.
 *
 * @param hardBytes an allocation beyond it fails
 * @param usedBytes what counts against it
 */
public record MemoryLimit(long hardBytes, long usedBytes) {}
