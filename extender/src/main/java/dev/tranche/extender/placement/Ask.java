package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.OptionalInt;

/**
 * What a pod asks of one node, in that node's terms.
 *
 * @param stampedReplicas the R that the webhook cut the shares with; GPUs of another R mean another
 *     share. Empty: a plain request, which any R serves.
 */
public record Ask(Demand demand, OptionalInt stampedReplicas, AllowList models, AllowList uuids) {}
