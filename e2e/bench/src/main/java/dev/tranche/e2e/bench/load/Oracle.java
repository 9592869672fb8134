package dev.tranche.e2e.bench.load;

import java.util.PriorityQueue;

/** Simulates a scheduler that places pods at once and knows what each pod uses. */
final class Oracle {
  private final SimulatedUse use;
  private final int gpus;
  private final int replicasPerGpu;

  private record End(double atS, Workload.Pod pod, int gpu) {}

  private Oracle(Workload workload, int gpus, int replicasPerGpu) {
    this.use = new SimulatedUse(gpus, replicasPerGpu, workload.fullS());
    this.gpus = gpus;
    this.replicasPerGpu = replicasPerGpu;
  }

  /** Runs with knowledge of what a pod will use before it arrives. */
  static SimulatedUse run(Workload workload, int gpus, int replicasPerGpu) {
    var oracle = new Oracle(workload, gpus, replicasPerGpu);
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
        oracle.use.start(pod, gpu);
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
      double cost = fits ? cost(gpu, pod) : Double.MAX_VALUE;
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
  private double cost(int gpu, Workload.Pod pod) {
    double sm = use.demand(gpu);
    boolean memoryFits = use.memory(gpu) + pod.memory() <= 1 + 1e-9;
    double lost = Math.max(0, sm + pod.sm() - 1);
    return (memoryFits ? 0 : 1_000) + (lost > 1e-9 ? 10 * (1 + lost) : 0) - sm;
  }
}
