package dev.tranche.extender.placement;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;

/**
 * What a pod asks of one node, in that node's terms; read on every node, and made once.
 *
 * @param stampedReplicas the R that the webhook cut the shares with; GPUs of another R mean another
 *     share. Empty: a plain request, which any R serves.
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

  /** Replicas of each share, where one container asks and its shares are alike; else 0. */
  public int shareReplicas() {
    if (demand.containers().size() != 1) {
      return 0;
    }
    Demand.Container only = demand.containers().getFirst();
    int share = only.shares().getFirst();
    return only.splittable() || share != only.shares().getLast() ? 0 : share;
  }

  /** The same with shares of another size, of one whose {@link #shareReplicas} are not 0. */
  public GpuRequest withShares(int replicas) {
    Demand.Container only = demand.containers().getFirst();
    List<Integer> shares = Collections.nCopies(only.shares().size(), replicas);
    var container = new Demand.Container(only.name(), only.kind(), shares, false);
    var resized = new Demand(demand.resource(), demand.replicasPerGpu(), List.of(container));
    return new GpuRequest(resized, stampedReplicas, models, uuids);
  }
}
