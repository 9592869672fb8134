package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds GPUs of one node for all shares of a pod, or says what is missing. */
public final class Placer {
  private Placer() {}

  public static Outcome place(Ask ask, List<GpuView> gpus, GpuOrder order) {
    var eligible = new ArrayList<GpuView>(gpus.size());
    Reason refused = Reason.NO_GPU;
    for (GpuView gpu : gpus) {
      Optional<Reason> ineligible = ineligible(ask, gpu);
      if (ineligible.isEmpty()) {
        eligible.add(gpu);
      } else if (ineligible.get().compareTo(refused) > 0) {
        // The reasons stand in the order of the checks: the latest is the nearest miss.
        refused = ineligible.get();
      }
    }
    if (eligible.isEmpty()) {
      return new Outcome.DoesNotFit(refused);
    }
    Optional<Placement> found = new Search(ask.demand(), slots(eligible, true, true), order).run();
    return found
        .<Outcome>map(Outcome.Fits::new)
        .orElseGet(() -> new Outcome.DoesNotFit(missing(ask.demand(), eligible, order)));
  }

  /** Why one GPU may not serve the pod, whatever room it has. */
  public static Optional<Reason> ineligible(Ask ask, GpuView gpu) {
    if (!gpu.resource().equals(ask.demand().resource())) {
      return Optional.of(Reason.NO_GPU);
    }
    if (ask.stampedReplicas().isPresent() && ask.stampedReplicas().getAsInt() != gpu.replicas()) {
      return Optional.of(Reason.OTHER_REPLICAS);
    }
    if (!ask.models().admits(gpu.model()) || !ask.uuids().admits(gpu.uuid())) {
      return Optional.of(Reason.NOT_ALLOWED);
    }
    return gpu.healthy() && !gpu.cordoned() ? Optional.empty() : Optional.of(Reason.UNFIT);
  }

  private static Reason missing(Demand demand, List<GpuView> gpus, GpuOrder order) {
    if (new Search(demand, slots(gpus, false, true), order).run().isPresent()) {
      return Reason.MEMORY;
    }
    if (new Search(demand, slots(gpus, false, false), order).run().isPresent()) {
      return Reason.CLIENTS;
    }
    int free = gpus.stream().mapToInt(GpuView::freeReplicas).sum();
    return free >= demand.peakReplicas() ? Reason.FRAGMENTED : Reason.FULL;
  }

  private static List<Slot> slots(List<GpuView> gpus, boolean memory, boolean clients) {
    var slots = new ArrayList<Slot>(gpus.size());
    for (GpuView gpu : gpus) {
      int byMemory = memory ? gpu.replicasByMemory() : gpu.replicas();
      int room = Math.min(gpu.freeReplicas(), byMemory);
      slots.add(new Slot(gpu, room, clients ? gpu.freeClients() : GpuView.UNLIMITED));
    }
    return slots;
  }
}
