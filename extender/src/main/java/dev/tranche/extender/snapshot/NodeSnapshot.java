package dev.tranche.extender.snapshot;

/**
 * A node with GPUs as the loop saw it; read on any thread.
 *
 * @param replicas R of the resource that a pod asks for
 */
public record NodeSnapshot(String node, int replicas, ClusterSnapshot.Seen seen) {}
