package dev.tranche.e2e.bench.load;

import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.ExtenderProcess;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ControlPlane;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A cluster of 25 nodes with eight GPUs each. The contestants place the same pods on it, one after
 * the other.
 */
public final class LoadContest implements AutoCloseable {
  private static final int WAIT_S = 120;

  /**
   * A few pods that are not counted, so that the JVMs have compiled their code. All contestants get
   * the same ones.
   */
  private static final Workload WARM_UP = workload(7, 240, 12);

  /** Scores nodes by their free GPU replicas, which matter here, rather than by CPU and memory. */
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

  public LoadContest(Artifacts artifacts) throws Exception {
    this.artifacts = artifacts;
    this.folder = Files.createTempDirectory("tranche-load");
    this.plane = new ControlPlane(artifacts.kubernetes(), folder);
    ClusterObjects.createNodes(plane.client(), GpuNumbering.NODES);
  }

  /** The workload that the contestants are given. */
  public static Workload workload(long seed, int pods, double lifeS) {
    return Workload.of(seed, pods, new GpuNumbering().count(), GpuNumbering.REPLICAS, lifeS);
  }

  /** Places the pods with knowledge of what each will use; nobody can do much better. */
  public static SimulatedUse oracle(Workload workload) {
    return Oracle.run(workload, new GpuNumbering().count(), GpuNumbering.REPLICAS);
  }

  public SimulatedUse run(Contestant contestant, Workload workload) throws Exception {
    var flags = contestant.flags();
    if (flags.isEmpty()) {
      return runWithScheduler(LEAST_ALLOCATED, workload, null);
    }
    Path log = folder.resolve(contestant + ".log");
    var all = new ArrayList<>(flags.get());
    all.add("--measured-after-ms=" + TimeScale.MEASURED_AFTER_MS);
    try (var extender =
        new ExtenderProcess(artifacts.root(), plane, log, all.toArray(String[]::new))) {
      Await.until("the extender to be ready", WAIT_S, extender::ready);
      try (var nodes =
          new SimulatedNodes(plane.client(), extender.streamPort(), new GpuNumbering().gpus())) {
        Await.until(
            "every node to be heard", WAIT_S, () -> extender.hasStreams(GpuNumbering.NODES));
        String scheduler = "percentageOfNodesToScore: 100\n" + extender.schedulerExtender();
        return runWithScheduler(scheduler, workload, nodes);
      }
    }
  }

  private SimulatedUse runWithScheduler(
      String configuration, Workload workload, @Nullable SimulatedNodes nodes) throws Exception {
    plane.startScheduler(configuration);
    try {
      runWorkload(WARM_UP, nodes);
      return runWorkload(workload, nodes);
    } finally {
      plane.stopScheduler();
    }
  }

  private SimulatedUse runWorkload(Workload workload, @Nullable SimulatedNodes nodes)
      throws Exception {
    try {
      return new LoadRun(plane, workload, nodes).run();
    } finally {
      ClusterObjects.deletePods(plane.client(), ClusterObjects.LABEL);
    }
  }

  @Override
  public void close() {
    plane.close();
  }
}
