package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placer;
import java.util.List;

/**
 * The number of nearly idle GPUs among those that may serve a pod.
 *
 * @param gpus number of GPUs whose load is known
 * @param idle number of these with hardly any load and at least half of their replicas free
 */
public record IdleGpus(int gpus, int idle) {
  public static final IdleGpus NONE = new IdleGpus(0, 0);

  private static final double IDLE_LOAD = 0.1;

  /** Among fewer GPUs, chance decides what new pods need, and there is nothing to plan. */
  private static final int PLANNED_FROM_GPUS = 16;

  public static IdleGpus of(GpuRequest request, List<GpuView> all) {
    int gpus = 0;
    int idle = 0;
    for (GpuView gpu : all) {
      if (gpu.measured() && Placer.ineligible(request, gpu).isEmpty()) {
        gpus++;
        idle += gpu.smLoad() < IDLE_LOAD && 2 * gpu.freeReplicas() >= gpu.replicas() ? 1 : 0;
      }
    }
    return new IdleGpus(gpus, idle);
  }

  /**
   * Returns whether fewer than three quarters are idle. Those that are left are worth keeping for
   * pods that may need a whole GPU.
   */
  public boolean scarce() {
    return gpus >= PLANNED_FROM_GPUS && 4 * idle < 3 * gpus;
  }
}
