package dev.tranche.extender.snapshot;

import dev.tranche.extender.snapshot.ClusterView.NodeGpus;

/**
 * A snapshot of a node with GPUs, taken on the loop; it may be read on any thread.
 *
 * @param replicas R of the resource that a pod requests
 */
public record NodeSnapshot(String node, int replicas, NodeGpus nodeGpus) {}
