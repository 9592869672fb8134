package dev.tranche.extender.preempt;

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
    long shares = request.demand().containers().stream().mapToLong(c -> c.shares().size()).sum();
    this.needed = request.demand().peakReplicas();
    this.onOneGpu = shares == 1 || request.demand().onOneGpu();
    this.also = also;
  }

  @Override
  public void reset() {
    left.clear();
    left.putAll(free);
    also.reset();
  }

  @Override
  public void goes(Candidate candidate) {
    add(candidate, 1);
    also.goes(candidate);
  }

  @Override
  public void spared(Candidate candidate) {
    add(candidate, -1);
    also.spared(candidate);
  }

  private void add(Candidate candidate, int sign) {
    candidate
        .held()
        .forEach((uuid, n) -> left.computeIfPresent(uuid, (same, before) -> before + sign * n));
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
