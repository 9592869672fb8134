package dev.tranche.extender.readapi.row;

/** What a pod holds of a GPU, or would. */
public record GpuShare(String uuid, int index, int replicas, int replicasPerGpu) {}
