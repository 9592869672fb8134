package dev.tranche.e2e.bench.load;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * What really happens on GPUs that pods share: who uses what, how much work is lost because more is
 * wanted than a GPU has, and whose memory was not there. Times are seconds of one clock.
 */
public final class RealUse {
  private static final double EPSILON = 1e-9;

  /** Readings older than this are nobody's last one any more. */
  private static final double REMEMBERED_S = 5;

  /** One GPU's. */
  public static final class Reading {
    private final double memory;
    private final double readS;

    /** Nobody knows it before. */
    private volatile double sentS = Double.MAX_VALUE;

    /**
     * @param memory in use of what is usable, 0 to 1
     */
    private Reading(double memory, double readS) {
      this.memory = memory;
      this.readS = readS;
    }

    /** On any thread. */
    public void sent(double atS) {
      sentS = atS;
    }
  }

  /** A pod on a GPU, with the memory that it got. */
  public record Use(Workload.Pod pod, double memory) {}

  private static final class Gpu {
    final List<Use> uses = new ArrayList<>();
    final Deque<Reading> readings = new ArrayDeque<>();

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
  private int foretellable;
  private double foretoldS;

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
   * @param decidedS readings that were sent by then could be known to who chose the GPU
   */
  public void start(Workload.Pod pod, int gpu, double decidedS) {
    Gpu on = gpus.get(gpu);
    double free = 1 - on.memory();
    if (pod.memory() > free + EPSILON) {
      collisions++;
      double asked = (double) pod.replicas() / replicasPerGpu;
      Reading last = lastRead(on, decidedS);
      if (1 - last.memory < asked - EPSILON) {
        foretellable++;
        foretoldS = Math.max(foretoldS, decidedS - last.sentS);
      }
    }
    on.uses.add(new Use(pod, Math.clamp(pod.memory(), 0, Math.max(0, free))));
  }

  private static Reading lastRead(Gpu gpu, double byS) {
    var last = new Reading(0, byS);
    for (Reading reading : gpu.readings) {
      last = reading.sentS <= byS ? reading : last;
    }
    return last;
  }

  public void end(Workload.Pod pod, int gpu) {
    gpus.get(gpu).uses.removeIf(u -> u.pod().number() == pod.number());
  }

  /** A GPU's memory has been read, and is about to be reported. */
  public Reading read(int gpu) {
    Gpu of = gpus.get(gpu);
    var reading = new Reading(of.memory(), nowS);
    of.readings.addLast(reading);
    while (of.readings.size() > 1 && of.readings.getFirst().readS < nowS - REMEMBERED_S) {
      of.readings.removeFirst();
    }
    return reading;
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

  /** Of these, those whose share already the last reading before had no room for. */
  public int foretellable() {
    return foretellable;
  }

  /** How long the oldest of those readings had been known. */
  public double foretoldS() {
    return foretoldS;
  }
}
