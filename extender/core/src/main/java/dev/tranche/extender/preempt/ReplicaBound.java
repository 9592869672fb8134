package dev.tranche.extender.preempt;

import dev.tranche.api.Demand;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.preempt.Victims.Candidate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A bound that costs little: whether the replicas that some pods hold are enough, whatever memory
 * and clients say. Where they are not, nothing else need be evaluated.
 */
public final class ReplicaBound implements Victims.Bound {
  /** Of the GPUs that may serve the pod. */
  private final Map<String, Integer> free = new HashMap<>();

  private final Map<String, Integer> left = new HashMap<>();
  private final int needed;
  private final boolean onOneGpu;
  private final Victims.Bound also;

  /**
   * @param gpus of the node as they are
   * @param also must hold, too
   */
  public ReplicaBound(GpuRequest request, List<GpuView> gpus, Victims.Bound also) {
    for (GpuView gpu : gpus) {
      if (Placer.ineligible(request, gpu).isEmpty()) {
        free.put(gpu.uuid(), gpu.freeReplicas());
      }
    }
    this.needed = request.demand().peakReplicas();
    this.onOneGpu = onOneGpu(request.demand());
    this.also = also;
  }

  /** Returns whether all that the pod needs must lie on one GPU, as {@link Placer} places it. */
  private static boolean onOneGpu(Demand demand) {
    List<Demand.Container> containers = demand.containers();
    if (containers.stream().allMatch(Demand.Container::mayUseSeveralGpus)) {
      return demand.onOneGpu() && demand.peakReplicas() <= demand.replicasPerGpu();
    }
    return demand.onOneGpu() || (containers.size() == 1 && containers.getFirst().gpus() == 1);
  }

  @Override
  public void reset() {
    left.clear();
    left.putAll(free);
    also.reset();
  }

  @Override
  public void count(Candidate candidate, int sign) {
    candidate
        .held()
        .forEach((uuid, n) -> left.computeIfPresent(uuid, (same, before) -> before + sign * n));
    also.count(candidate, sign);
  }

  @Override
  public boolean mayFit() {
    if (!also.mayFit()) {
      return false;
    }
    int most = 0;
    int sum = 0;
    for (int replicas : left.values()) {
      most = Math.max(most, replicas);
      sum += replicas;
    }
    return (onOneGpu ? most : sum) >= needed;
  }
}
