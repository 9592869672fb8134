package dev.tranche.nodeplugin.nvml;

/** A critical error that the driver reported: NVIDIA's XID number, on this GPU. */
public record GpuEvent(int index, long xid) {}
