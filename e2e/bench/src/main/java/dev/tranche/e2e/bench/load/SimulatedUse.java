package dev.tranche.e2e.bench.load;

import java.util.ArrayList;
import java.util.List;

/**
 * Simulates what happens on shared GPUs. It knows who uses what, how much work is lost where demand
 * exceeds a GPU, and which pods found no memory. Times are seconds of one clock.
 */
public final class SimulatedUse {
  private static final double EPSILON = 1e-9;

  /** A pod on a GPU, with the memory that it got. */
  public record PlacedPod(Workload.Pod pod, double memory) {}

  private static final class Gpu {
    final List<PlacedPod> pods = new ArrayList<>();

    double demand() {
      return pods.stream().mapToDouble(u -> u.pod().sm()).sum();
    }

    double memory() {
      return pods.stream().mapToDouble(PlacedPod::memory).sum();
    }

    int replicas() {
      return pods.stream().mapToInt(u -> u.pod().replicas()).sum();
    }
  }

  private final List<Gpu> gpus = new ArrayList<>();
  private final int replicasPerGpu;
  private double fromS;
  private double nowS;
  private double demand;
  private double lost;
  private double allocated;
  private int collisions;

  /**
   * @param fromS work before this time does not count, unless {@link #startCounting} sets an
   *     earlier one; collisions always count
   */
  public SimulatedUse(int gpus, int replicasPerGpu, double fromS) {
    this.replicasPerGpu = replicasPerGpu;
    this.fromS = fromS;
    for (int i = 0; i < gpus; i++) {
      this.gpus.add(new Gpu());
    }
  }

  /** Work counts from now on. */
  public void startCounting() {
    fromS = nowS;
  }

  /** Advances the time, and adds up the work until then. */
  public void advance(double untilS) {
    double passedS = untilS - Math.max(nowS, fromS);
    if (passedS > 0) {
      for (Gpu gpu : gpus) {
        double wanted = gpu.demand();
        demand += wanted * passedS;
        lost += Math.max(0, wanted - 1) * passedS;
        allocated += (double) gpu.replicas() / replicasPerGpu * passedS;
      }
    }
    nowS = Math.max(nowS, untilS);
  }

  /** Starts a pod, which gets at most the memory that is free. */
  public void start(Workload.Pod pod, int gpu) {
    Gpu on = gpus.get(gpu);
    double free = 1 - on.memory();
    collisions += pod.memory() > free + EPSILON ? 1 : 0;
    on.pods.add(new PlacedPod(pod, Math.clamp(pod.memory(), 0, Math.max(0, free))));
  }

  public void end(Workload.Pod pod, int gpu) {
    gpus.get(gpu).pods.removeIf(u -> u.pod().number() == pod.number());
  }

  public List<PlacedPod> pods(int gpu) {
    return List.copyOf(gpus.get(gpu).pods);
  }

  /** Returns what NVML would report as utilization: 0 to 1, even if the demand is higher. */
  public double sm(int gpu) {
    return Math.min(1, demand(gpu));
  }

  /** Returns the demand for a GPU, in GPUs. */
  public double demand(int gpu) {
    return gpus.get(gpu).demand();
  }

  public double memory(int gpu) {
    return gpus.get(gpu).memory();
  }

  public int replicas(int gpu) {
    return gpus.get(gpu).replicas();
  }

  /** Returns the part of the demanded work that was lost. */
  public double lostRatio() {
    return demand == 0 ? 0 : lost / demand;
  }

  public double allocatedRatio() {
    return nowS <= fromS ? 0 : allocated / (nowS - fromS) / gpus.size();
  }

  /** Returns the number of pods that lacked memory. */
  public int collisions() {
    return collisions;
  }
}
