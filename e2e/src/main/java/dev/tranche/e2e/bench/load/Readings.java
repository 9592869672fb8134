package dev.tranche.e2e.bench.load;

import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.PodUse;
import dev.tranche.e2e.bench.plane.Population;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.function.DoubleSupplier;

/** Reads what really happens as node plugins do, and has the simulated nodes report it. */
final class Readings {
  private static final double CHANGE_SM = 0.05;
  private static final double CHANGE_MEMORY = 0.02;

  private final RealUse use;
  private final SimulatedGpus places;
  private final SimulatedNodes nodes;
  private final DoubleSupplier clockS;
  private final double[] smMean;
  private final double[] smSent;
  private final double[] memorySent;

  /**
   * @param clockS that of what really happens; asked on any thread
   */
  Readings(RealUse use, SimulatedGpus places, SimulatedNodes nodes, DoubleSupplier clockS) {
    this.clockS = clockS;
    this.use = use;
    this.places = places;
    this.nodes = nodes;
    this.smMean = new double[places.count()];
    this.smSent = new double[places.count()];
    this.memorySent = new double[places.count()];
    // What the nodes said at first was of nobody's pods.
    Arrays.fill(smSent, Double.POSITIVE_INFINITY);
  }

  /** All GPUs once more. */
  void read(double passedS) {
    var news = new LinkedHashSet<String>();
    for (int gpu = 0; gpu < smMean.length; gpu++) {
      smMean[gpu] = TimeScale.mean(smMean[gpu], use.sm(gpu), passedS);
      load(gpu);
      if (differs(gpu)) {
        news.add(places.node(gpu));
      }
    }
    for (int gpu = 0; gpu < smMean.length; gpu++) {
      if (news.contains(places.node(gpu))) {
        smSent[gpu] = smMean[gpu];
        memorySent[gpu] = use.memory(gpu);
      }
    }
    news.forEach(nodes::report);
  }

  /** Whatever report comes next brings it. */
  private void load(int gpu) {
    double memory = use.memory(gpu);
    nodes.load(
        places.node(gpu),
        places.uuid(gpu),
        load(gpu, memory),
        uses(gpu),
        () -> use.told(gpu, memory, clockS.getAsDouble()));
  }

  /** Enough for a node plugin to report it at once. */
  private boolean differs(int gpu) {
    return Math.abs(smMean[gpu] - smSent[gpu]) >= CHANGE_SM
        || Math.abs(use.memory(gpu) - memorySent[gpu]) >= CHANGE_MEMORY;
  }

  private GpuLoad load(int gpu, double memory) {
    return GpuLoad.newBuilder()
        .setSampledAtMs(System.currentTimeMillis())
        .setSmUtilizationPercent((int) Math.round(use.sm(gpu) * 100))
        .setSmUtilizationMeanPercent((float) (smMean[gpu] * 100))
        .setMemoryUsedBytes(Math.round(memory * SimulatedGpus.MEMORY_BYTES))
        .setProcesses(use.uses(gpu).size())
        .build();
  }

  private List<PodUse> uses(int gpu) {
    double demand = Math.max(1, use.demand(gpu));
    return use.uses(gpu).stream()
        .map(
            u ->
                PodUse.newBuilder()
                    .setNamespace(Population.NAMESPACE)
                    .setPod(SimulatedGpus.podName(u.pod()))
                    .setContainer("main")
                    .setMemoryUsedBytes((long) (u.memory() * SimulatedGpus.MEMORY_BYTES))
                    .setSmUtilizationPercent((float) (u.pod().sm() / demand * 100))
                    .build())
        .toList();
  }
}
