package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placer;
import java.util.List;

/**
 * How many of the GPUs that may serve a pod are next to idle.
 *
 * @param gpus whose load is known
 * @param idle of these, so many have hardly any load and half of their replicas free
 */
public record IdleGpus(int gpus, int idle) {
  public static final IdleGpus NONE = new IdleGpus(0, 0);

  private static final double IDLE_LOAD = 0.1;

  /** Among fewer GPUs chance decides what newcomers need, and there is nothing to plan. */
  private static final int PLANNED_FROM_GPUS = 16;

  public static IdleGpus of(GpuRequest ask, List<GpuView> all) {
    int gpus = 0;
    int idle = 0;
    for (GpuView gpu : all) {
      if (gpu.measured() && Placer.ineligible(ask, gpu).isEmpty()) {
        gpus++;
        idle += gpu.smLoad() < IDLE_LOAD && 2 * gpu.freeReplicas() >= gpu.replicas() ? 1 : 0;
      }
    }
    return new IdleGpus(gpus, idle);
  }

  /**
   * Fewer than three quarters: those that are left are worth keeping for pods that may need all of
   * one.
   */
  public boolean scarce() {
    return gpus >= PLANNED_FROM_GPUS && 4 * idle < 3 * gpus;
  }
}
