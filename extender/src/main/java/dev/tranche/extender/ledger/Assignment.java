package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Placement;

/**
 * Which GPUs the containers of a pod are to get from the node's plugin.
 *
 * @param key {@code namespace/name}
 * @param replicasPerGpu R that the shares are counted in; 0: not known
 */
public record Assignment(
    String uid, String key, String resource, Placement placement, int replicasPerGpu) {}
