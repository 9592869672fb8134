package dev.tranche.e2e.bench.load;

import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.PodUse;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;

/** Reads the real use of GPUs as node plugins do, and makes the simulated nodes report it. */
final class Readings {
  private static final double CHANGE_SM = 0.05;
  private static final double CHANGE_MEMORY = 0.02;

  private final SimulatedUse use;
  private final GpuNumbering gpus;
  private final SimulatedNodes nodes;
  private final double[] smMean;
  private final double[] smSent;
  private final double[] memorySent;

  Readings(SimulatedUse use, GpuNumbering gpus, SimulatedNodes nodes) {
    this.use = use;
    this.gpus = gpus;
    this.nodes = nodes;
    this.smMean = new double[gpus.count()];
    this.smSent = new double[gpus.count()];
    this.memorySent = new double[gpus.count()];
    // The loads that nodes reported at first were not caused by these pods, so report all GPUs
    // anew.
    Arrays.fill(smSent, Double.POSITIVE_INFINITY);
  }

  /** Reads all GPUs once. */
  void read(double passedS) {
    var changedNodes = new LinkedHashSet<String>();
    for (int gpu = 0; gpu < smMean.length; gpu++) {
      smMean[gpu] = TimeScale.mean(smMean[gpu], use.sm(gpu), passedS);
      load(gpu);
      if (differs(gpu)) {
        changedNodes.add(gpus.node(gpu));
      }
    }
    for (int gpu = 0; gpu < smMean.length; gpu++) {
      if (changedNodes.contains(gpus.node(gpu))) {
        smSent[gpu] = smMean[gpu];
        memorySent[gpu] = use.memory(gpu);
      }
    }
    changedNodes.forEach(nodes::report);
  }

  /** Sets the load that the node's next report has. */
  private void load(int gpu) {
    GpuLoad load =
        GpuLoad.newBuilder()
            .setSampledAtMs(System.currentTimeMillis())
            .setSmUtilizationPercent((int) Math.round(use.sm(gpu) * 100))
            .setSmUtilizationMeanPercent((float) (smMean[gpu] * 100))
            .setMemoryUsedBytes(Math.round(use.memory(gpu) * GpuNumbering.MEMORY_BYTES))
            .setProcesses(use.pods(gpu).size())
            .build();
    nodes.load(gpus.node(gpu), gpus.uuid(gpu), load, podUses(gpu));
  }

  /** Returns whether a change is large enough for a node plugin to report it at once. */
  private boolean differs(int gpu) {
    return Math.abs(smMean[gpu] - smSent[gpu]) >= CHANGE_SM
        || Math.abs(use.memory(gpu) - memorySent[gpu]) >= CHANGE_MEMORY;
  }

  private List<PodUse> podUses(int gpu) {
    // A node plugin keeps the sum within the GPU's utilization.
    double scale = use.sm(gpu) / Math.max(1e-9, use.demand(gpu));
    return use.pods(gpu).stream()
        .map(
            u ->
                PodUse.newBuilder()
                    .setNamespace(ClusterObjects.NAMESPACE)
                    .setPod(GpuNumbering.podName(u.pod()))
                    .setContainer("main")
                    .setMemoryUsedBytes((long) (u.memory() * GpuNumbering.MEMORY_BYTES))
                    .setSmUtilizationPercent((float) (u.pod().sm() * scale * 100))
                    .build())
        .toList();
  }
}
