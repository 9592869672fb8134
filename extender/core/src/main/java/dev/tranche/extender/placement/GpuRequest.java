package dev.tranche.extender.placement;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import java.util.List;
import java.util.OptionalInt;

/**
 * A pod's request for GPUs, in terms of a node's R. It is built once and read on every node.
 *
 * @param stampedReplicas the R that the webhook computed the shares with; on GPUs of another R they
 *     would be other shares. Empty for a plain request, which any R serves.
 */
public record GpuRequest(
    Demand demand,
    OptionalInt stampedReplicas,
    AllowList models,
    AllowList uuids,
    SearchPlan plan) {
  public GpuRequest(Demand demand, OptionalInt stampedReplicas, AllowList models, AllowList uuids) {
    this(demand, stampedReplicas, models, uuids, new SearchPlan(demand));
  }

  /**
   * Returns the replicas of each share if a single container requests shares of one size; otherwise
   * 0.
   */
  public int shareReplicas() {
    if (demand.containers().size() != 1) {
      return 0;
    }
    Demand.Container only = demand.containers().getFirst();
    return only.mayUseSeveralGpus() || only.shares().size() > 1
        ? 0
        : only.shares().getFirst().replicas();
  }

  /** Returns the request with shares of another size; {@link #shareReplicas} must not be 0. */
  public GpuRequest withShares(int replicas) {
    Demand.Container only = demand.containers().getFirst();
    var shares = new Demand.Shares(only.gpus(), replicas);
    var container = new Demand.Container(only.name(), only.kind(), List.of(shares), false);
    var resized = new Demand(demand.resource(), demand.replicasPerGpu(), List.of(container));
    return new GpuRequest(resized, stampedReplicas, models, uuids);
  }
}
