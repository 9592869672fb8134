package dev.tranche.extender.placement;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** What a pod asks of one node, in that node's terms; read on every node, and made once. */
public final class GpuRequest {
  private final OptionalInt stampedReplicas;
  private final AllowList models;
  private final AllowList uuids;
  private final SearchPlan plan;

  /**
   * @param stampedReplicas the R that the webhook cut the shares with; GPUs of another R mean
   *     another share. Empty: a plain request, which any R serves.
   */
  public GpuRequest(Demand demand, OptionalInt stampedReplicas, AllowList models, AllowList uuids) {
    this.stampedReplicas = stampedReplicas;
    this.models = models;
    this.uuids = uuids;
    this.plan = new SearchPlan(demand);
  }

  public Demand demand() {
    return plan.demand;
  }

  OptionalInt stampedReplicas() {
    return stampedReplicas;
  }

  public AllowList models() {
    return models;
  }

  AllowList uuids() {
    return uuids;
  }

  SearchPlan plan() {
    return plan;
  }

  /** Replicas of each share, where one container asks and its shares are alike; else 0. */
  public int shareReplicas() {
    if (demand().containers().size() != 1) {
      return 0;
    }
    Demand.Container only = demand().containers().getFirst();
    int share = only.shares().getFirst();
    return only.splittable() || share != only.shares().getLast() ? 0 : share;
  }

  /** The same with shares of another size, of one whose {@link #shareReplicas} are not 0. */
  public GpuRequest withShares(int replicas) {
    Demand.Container only = demand().containers().getFirst();
    List<Integer> shares = Collections.nCopies(only.shares().size(), replicas);
    var container = new Demand.Container(only.name(), only.kind(), shares, false);
    var demand = new Demand(demand().resource(), demand().replicasPerGpu(), List.of(container));
    return new GpuRequest(demand, stampedReplicas, models, uuids);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof GpuRequest ask
        && demand().equals(ask.demand())
        && stampedReplicas.equals(ask.stampedReplicas)
        && models.equals(ask.models)
        && uuids.equals(ask.uuids);
  }

  @Override
  public int hashCode() {
    return Objects.hash(demand(), stampedReplicas, models, uuids);
  }
}
