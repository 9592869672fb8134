package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
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
