package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Placement;
import java.util.Map;

/**
 * The GPUs that the node's plugin is to give to the containers of a pod.
 *
 * @param key {@code namespace/name}
 * @param replicasPerGpu the R that the shares are counted in; 0 if not known
 * @param memoryLimits in bytes, by container, of those about which the pod says something
 */
public record Assignment(
    String uid,
    String key,
    String resource,
    Placement placement,
    int replicasPerGpu,
    Map<String, Long> memoryLimits) {}
