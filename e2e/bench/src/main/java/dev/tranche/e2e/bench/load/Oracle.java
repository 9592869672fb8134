package dev.tranche.e2e.bench.load;

import java.util.PriorityQueue;

/** Simulates a scheduler that places pods at once and knows what each pod uses. */
final class Oracle {
  private final SimulatedUse use;
  private final int gpus;
  private final int replicasPerGpu;

  /** The value of an empty GPU for later pods, in GPUs' worth of work. */
  private static final double CAPACITY_PRICE = 0.1;

  private final Choice choice;

  /** What it costs to put a pod on a GPU; the least is taken. */
  private interface Choice {
    double cost(SimulatedUse use, int gpu, Workload.Pod pod);
  }

  private record End(double atS, Workload.Pod pod, int gpu) {}

  private Oracle(Workload workload, int gpus, int replicasPerGpu, Choice choice) {
    this.choice = choice;
    this.use = new SimulatedUse(gpus, replicasPerGpu, workload.fullS());
    this.gpus = gpus;
    this.replicasPerGpu = replicasPerGpu;
  }

  /** Runs with knowledge of what a pod will use before it arrives. */
  static SimulatedUse run(Workload workload, int gpus, int replicasPerGpu) {
    return run(workload, new Oracle(workload, gpus, replicasPerGpu, Oracle::costWithForesight));
  }

  /** Runs with only the odds known for new pods, and with everything known for all others. */
  static SimulatedUse withoutForesight(Workload workload, int gpus, int replicasPerGpu) {
    Choice odds = (use, gpu, pod) -> expectedCost(use, gpu, pod, replicasPerGpu);
    return run(workload, new Oracle(workload, gpus, replicasPerGpu, odds));
  }

  private static SimulatedUse run(Workload workload, Oracle oracle) {
    var ends = new PriorityQueue<End>((a, b) -> Double.compare(a.atS, b.atS));
    for (Workload.Pod pod : workload.pods()) {
      while (!ends.isEmpty() && ends.element().atS() <= pod.arrivesS()) {
        End end = ends.remove();
        oracle.use.advance(end.atS());
        oracle.use.end(end.pod(), end.gpu());
      }
      oracle.use.advance(pod.arrivesS());
      int gpu = oracle.best(pod);
      if (gpu >= 0) {
        oracle.use.start(pod, gpu, pod.arrivesS(), pod.arrivesS());
        ends.add(new End(pod.arrivesS() + pod.lifeS(), pod, gpu));
      }
    }
    return oracle.use;
  }

  private int best(Workload.Pod pod) {
    int best = -1;
    double least = Double.MAX_VALUE;
    for (int gpu = 0; gpu < gpus; gpu++) {
      boolean fits = use.replicas(gpu) + pod.replicas() <= replicasPerGpu;
      double cost = fits ? choice.cost(use, gpu, pod) : Double.MAX_VALUE;
      if (cost < least) {
        least = cost;
        best = gpu;
      }
    }
    return best;
  }

  /**
   * Prefers the fullest GPU that still has what the pod will use, or else the one with the most
   * left.
   */
  private static double costWithForesight(SimulatedUse use, int gpu, Workload.Pod pod) {
    double sm = use.demand(gpu);
    boolean memoryFits = use.memory(gpu) + pod.memory() <= 1 + 1e-9;
    double lost = Math.max(0, sm + pod.sm() - 1);
    return (memoryFits ? 0 : 1_000) + (lost > 1e-9 ? 10 * (1 + lost) : 0) - sm;
  }

  /**
   * Returns the work that is likely to be lost, plus the value of the space that later pods lose.
   */
  private static double expectedCost(
      SimulatedUse use, int gpu, Workload.Pod pod, int replicasPerGpu) {
    double sm = use.demand(gpu);
    double free = 1 - (double) use.replicas(gpu) / replicasPerGpu;
    double requested = (double) pod.replicas() / replicasPerGpu;
    double cost = CAPACITY_PRICE * capacityValue(sm, free);
    for (int i = 0; i < Workload.USE_FACTORS.length; i++) {
      double then = sm + Math.min(1, requested * Workload.USE_FACTORS[i]);
      double lost = Math.max(0, then - 1) - Math.max(0, sm - 1);
      cost +=
          Workload.USE_FACTOR_ODDS[i]
              * (lost - CAPACITY_PRICE * capacityValue(then, free - requested));
    }
    return cost;
  }

  private static double capacityValue(double sm, double free) {
    double headroom = Math.max(0, 1 - sm);
    return headroom * headroom * free;
  }
}
