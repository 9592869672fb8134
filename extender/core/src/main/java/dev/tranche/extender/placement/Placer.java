package dev.tranche.extender.placement;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds GPUs of one node for all shares of a pod, or says what is missing. */
public final class Placer {
  private Placer() {}

  public static Outcome place(GpuRequest request, List<GpuView> gpus, GpuOrder order) {
    var eligible = new ArrayList<GpuView>(gpus.size());
    Reason refused = Reason.NO_GPU;
    for (GpuView gpu : gpus) {
      Optional<Reason> ineligible = ineligible(request, gpu);
      if (ineligible.isEmpty()) {
        eligible.add(gpu);
      } else if (ineligible.get().compareTo(refused) > 0) {
        // Reasons are declared in the order of the checks, so the last one is the nearest miss.
        refused = ineligible.get();
      }
    }
    if (eligible.isEmpty()) {
      return new Outcome.DoesNotFit(refused);
    }
    var steps = new SearchBudget();
    return new Search(request.plan(), eligible, true, true, steps)
        .run(order)
        .orElseGet(() -> missing(request.plan(), eligible, steps));
  }

  /** Returns why one GPU may not serve the pod, however much of it is free. */
  public static Optional<Reason> ineligible(GpuRequest request, GpuView gpu) {
    if (!gpu.resource().equals(request.demand().resource())) {
      return Optional.of(Reason.NO_GPU);
    }
    if (request.stampedReplicas().isPresent()
        && request.stampedReplicas().getAsInt() != gpu.replicas()) {
      return Optional.of(Reason.OTHER_REPLICAS);
    }
    if (!request.models().admitsModel(gpu.model()) || !request.uuids().admits(gpu.uuid())) {
      return Optional.of(Reason.NOT_ALLOWED);
    }
    return gpu.takesPods() ? Optional.empty() : Optional.of(Reason.UNFIT);
  }

  /** Returns why the pod does not fit: the nearest miss is the limit without which it would fit. */
  private static Outcome missing(SearchPlan plan, List<GpuView> gpus, SearchBudget steps) {
    int free = gpus.stream().mapToInt(GpuView::freeReplicas).sum();
    if (free < plan.peakReplicas) {
      return new Outcome.DoesNotFit(Reason.FULL);
    }
    boolean memory = gpus.stream().anyMatch(g -> g.replicasByMemory() < g.freeReplicas());
    boolean clients = gpus.stream().anyMatch(g -> g.freeClients() != GpuView.UNLIMITED);
    return (memory ? without(plan, gpus, true, Reason.MEMORY, steps) : Optional.<Outcome>empty())
        .or(() -> clients ? without(plan, gpus, false, Reason.CLIENTS, steps) : Optional.empty())
        .orElseGet(() -> new Outcome.DoesNotFit(scattered(plan, gpus)));
  }

  /**
   * Searches as if real free memory did not matter; empty if the pod would not fit then either.
   *
   * @param clients whether MPS client slots matter
   */
  private static Optional<Outcome> without(
      SearchPlan plan, List<GpuView> gpus, boolean clients, Reason reason, SearchBudget steps) {
    return new Search(plan, gpus, false, clients, steps)
        .run(null)
        .map(found -> found instanceof Outcome.Fits ? new Outcome.DoesNotFit(reason) : found);
  }

  private static Reason scattered(SearchPlan plan, List<GpuView> gpus) {
    boolean whole = gpus.stream().anyMatch(g -> g.freeReplicas() >= plan.largestShare);
    return whole ? Reason.TOO_FEW_GPUS : Reason.FRAGMENTED;
  }
}
