package dev.tranche.e2e.bench.load;

import dev.tranche.e2e.bench.plane.ControlPlane;
import dev.tranche.e2e.bench.plane.ExtenderPart;
import dev.tranche.e2e.bench.plane.Population;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** 25 nodes of eight GPUs, on which one after the other places the same pods. */
public final class Contest implements AutoCloseable {
  private static final int WAIT_S = 120;

  /**
   * A few pods that nobody counts, so that what is compiled as it runs has been: of each the same.
   */
  private static final Workload WARM_UP = workload(7, 240, 12, true);

  /** By what is left of the GPUs, which is what counts here, rather than of CPU and memory. */
  private static final String LEAST_ALLOCATED =
      """
      profiles:
        - schedulerName: default-scheduler
          pluginConfig:
            - name: NodeResourcesFit
              args:
                scoringStrategy: {type: LeastAllocated, resources: [{name: nvidia.com/gpu, weight: 1}]}
      """;

  private final Artifacts artifacts;
  private final Path folder;
  private final ControlPlane plane;

  public Contest(Artifacts artifacts) throws Exception {
    this.artifacts = artifacts;
    this.folder = Files.createTempDirectory("tranche-load");
    this.plane = new ControlPlane(artifacts.kubernetes(), folder);
    Population.createNodes(plane.client(), SimulatedGpus.NODES);
  }

  /**
   * What came of it.
   *
   * @param waitMeanS from a pod's creation to its binding
   * @param unplaced never bound
   */
  public record Result(RealUse use, double waitMeanS, int unplaced) {}

  /** The workload that the contestants are given. */
  public static Workload workload(long seed, int pods, double lifeS, boolean alike) {
    return Workload.of(
        seed, pods, new SimulatedGpus().count(), SimulatedGpus.REPLICAS, lifeS, alike);
  }

  /** The same by one who knows what each pod is going to use: nobody can do much better. */
  public static RealUse oracle(Workload workload) {
    return Oracle.run(workload, new SimulatedGpus().count(), SimulatedGpus.REPLICAS);
  }

  /** The same by one who knows everything but what newcomers will use. */
  public static RealUse blind(Workload workload) {
    return Oracle.blind(workload, new SimulatedGpus().count(), SimulatedGpus.REPLICAS);
  }

  public Result run(Contestant contestant, Workload workload) throws Exception {
    var flags = contestant.flags();
    if (flags.isEmpty()) {
      return scheduled(LEAST_ALLOCATED, workload, null, Map.of());
    }
    Path log = folder.resolve(contestant + ".log");
    var all = new ArrayList<>(flags.get());
    all.add("--measured-after-ms=" + TimeScale.MEASURED_AFTER_MS);
    try (var extender =
        new ExtenderPart(artifacts.root(), plane, log, all.toArray(String[]::new))) {
      Await.until("the extender to be ready", WAIT_S, extender::ready);
      var toldNanos = new ConcurrentHashMap<String, Long>();
      try (var nodes =
          new SimulatedNodes(
              plane.client(),
              extender.streamPort(),
              new SimulatedGpus().gpus(),
              (node, pod) -> toldNanos.put(pod.getPodUid(), System.nanoTime()))) {
        Await.until("every node to be heard", WAIT_S, () -> extender.hears(SimulatedGpus.NODES));
        String scheduler = "percentageOfNodesToScore: 100\n" + extender.schedulerExtender();
        return scheduled(scheduler, workload, nodes, toldNanos);
      }
    }
  }

  private Result scheduled(
      String configuration,
      Workload workload,
      @Nullable SimulatedNodes nodes,
      Map<String, Long> toldNanos)
      throws Exception {
    plane.startScheduler(configuration);
    try {
      once(WARM_UP, nodes, toldNanos);
      return once(workload, nodes, toldNanos);
    } finally {
      plane.stopScheduler();
    }
  }

  private Result once(
      Workload workload, @Nullable SimulatedNodes nodes, Map<String, Long> toldNanos)
      throws Exception {
    try {
      return new LoadRun(plane, workload, nodes, toldNanos).run();
    } finally {
      Population.deletePods(plane.client(), Population.LABEL);
    }
  }

  @Override
  public void close() {
    plane.close();
  }
}
