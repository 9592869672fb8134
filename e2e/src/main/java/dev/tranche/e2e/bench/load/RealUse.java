package dev.tranche.e2e.bench.load;

import java.util.ArrayList;
import java.util.List;

/**
 * Simulates what happens on shared GPUs. It knows who uses what, how much work is lost where demand
 * exceeds a GPU, and which pods found no memory. Times are seconds of one clock.
 */
public final class RealUse {
  private static final double EPSILON = 1e-9;

  /** A pod on a GPU, with the memory that it got. */
  public record Use(Workload.Pod pod, double memory) {}

  /**
   * A pod whose memory was not there, and whose share, by what was told, was not free either.
   *
   * @param there whom it found
   * @param readings of which each may have been the last word when its GPU was chosen
   * @param chosenS by then at the latest
   */
  public record Foretold(
      Workload.Pod pod,
      int gpu,
      List<Use> there,
      List<ReportedMemory.Reading> readings,
      double chosenS) {
    /** For how long it had been known. */
    double knownS() {
      return chosenS - readings.getFirst().sentS();
    }

    @Override
    public String toString() {
      return "at %.3f s GPU %d was chosen for %s; memory used as told: %s; there are %s"
          .formatted(chosenS, gpu, pod, readings, there);
    }
  }

  private static final class Gpu {
    final List<Use> uses = new ArrayList<>();
    final ReportedMemory told = new ReportedMemory();

    double demand() {
      return uses.stream().mapToDouble(u -> u.pod().sm()).sum();
    }

    double memory() {
      return uses.stream().mapToDouble(Use::memory).sum();
    }

    int replicas() {
      return uses.stream().mapToInt(u -> u.pod().replicas()).sum();
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
  private final List<Foretold> foretold = new ArrayList<>();

  /**
   * @param fromS work before that does not count, unless {@link #count} says so earlier; collisions
   *     always do
   */
  public RealUse(int gpus, int replicasPerGpu, double fromS) {
    this.replicasPerGpu = replicasPerGpu;
    this.fromS = fromS;
    for (int i = 0; i < gpus; i++) {
      this.gpus.add(new Gpu());
    }
  }

  /** Work counts from now on. */
  public void count() {
    fromS = nowS;
  }

  /** Time passes. */
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

  /**
   * A pod begins. Memory that is not there it does not get.
   *
   * @param fromS its GPU was not chosen before
   * @param chosenS nor after that. Whoever chose it may have known any of the readings that were
   *     the last in between
   */
  public void start(Workload.Pod pod, int gpu, double fromS, double chosenS) {
    Gpu on = gpus.get(gpu);
    double free = 1 - on.memory();
    if (pod.memory() > free + EPSILON) {
      collisions++;
      double asked = (double) pod.replicas() / replicasPerGpu;
      List<ReportedMemory.Reading> readings = on.told.lastBetween(fromS, chosenS);
      boolean known = !readings.isEmpty();
      if (known && readings.stream().allMatch(r -> 1 - r.memory() < asked - EPSILON)) {
        foretold.add(new Foretold(pod, gpu, List.copyOf(on.uses), readings, chosenS));
      }
    }
    on.uses.add(new Use(pod, Math.clamp(pod.memory(), 0, Math.max(0, free))));
  }

  public void end(Workload.Pod pod, int gpu) {
    gpus.get(gpu).uses.removeIf(u -> u.pod().number() == pod.number());
  }

  /** A report says how much of a GPU's memory was in use; on any one thread. */
  public void told(int gpu, double memory, double sentS) {
    gpus.get(gpu).told.add(memory, sentS);
  }

  public List<Use> uses(int gpu) {
    return List.copyOf(gpus.get(gpu).uses);
  }

  /** What NVML would say: 0 to 1, however much is wanted. */
  public double sm(int gpu) {
    return Math.min(1, gpus.get(gpu).demand());
  }

  /** What is wanted of it, in GPUs. */
  public double demand(int gpu) {
    return gpus.get(gpu).demand();
  }

  public double memory(int gpu) {
    return gpus.get(gpu).memory();
  }

  public int replicas(int gpu) {
    return gpus.get(gpu).replicas();
  }

  /** Of all work that was wanted, that which could not be done. */
  public double lostRatio() {
    return demand == 0 ? 0 : lost / demand;
  }

  public double allocatedRatio() {
    return nowS <= fromS ? 0 : allocated / (nowS - fromS) / gpus.size();
  }

  /** Work wanted, of what the GPUs could do. */
  public double demandRatio() {
    return nowS <= fromS ? 0 : demand / (nowS - fromS) / gpus.size();
  }

  /** Pods whose memory was not there. */
  public int collisions() {
    return collisions;
  }

  /** Of these, those whose share was not free by any reading that could be the last known. */
  public List<Foretold> foretold() {
    return List.copyOf(foretold);
  }

  /** For how long the oldest of them had been known. */
  public double foretoldS() {
    return foretold.stream().mapToDouble(Foretold::knownS).max().orElse(0);
  }
}
