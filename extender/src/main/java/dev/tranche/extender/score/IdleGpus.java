package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placer;
import java.util.List;
import java.util.stream.IntStream;

/**
 * How many of the GPUs that may serve a pod are next to idle.
 *
 * @param gpus whose load is known
 * @param idle of these, so many have hardly any load and half of their replicas free
 */
public record IdleGpus(int gpus, int idle) {
  public static final IdleGpus NONE = new IdleGpus(0, 0);

  private static final double IDLE_LOAD = 0.1;

  /**
   * Up to so many GPUs every node with the same has the same object: to add up thousands is then no
   * wait for the memory of each.
   */
  private static final int SHARED_GPUS = 16;

  /** By the GPUs, then by those that are idle. */
  private static final List<List<IdleGpus>> SHARED =
      IntStream.rangeClosed(0, SHARED_GPUS)
          .mapToObj(
              gpus -> IntStream.rangeClosed(0, gpus).mapToObj(i -> new IdleGpus(gpus, i)).toList())
          .toList();

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
    return gpus <= SHARED_GPUS ? SHARED.get(gpus).get(idle) : new IdleGpus(gpus, idle);
  }

  /** Of many nodes. */
  public static final class Sum {
    private int gpus;
    private int idle;

    public void add(IdleGpus one) {
      gpus += one.gpus;
      idle += one.idle;
    }

    public IdleGpus total() {
      return new IdleGpus(gpus, idle);
    }
  }

  /**
   * Fewer than three quarters: those that are left are worth keeping for pods that may need all of
   * one.
   */
  public boolean scarce() {
    return gpus >= PLANNED_FROM_GPUS && 4 * idle < 3 * gpus;
  }
}
