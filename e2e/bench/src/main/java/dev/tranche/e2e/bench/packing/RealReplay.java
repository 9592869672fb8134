package dev.tranche.e2e.bench.packing;

import dev.tranche.e2e.bench.plane.ExtenderProcess;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ControlPlane;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A replay through a stock kube-scheduler and our extender with its policy {@code packed}. */
public final class RealReplay {
  private static final String NAMESPACE = "default";
  private static final int WAIT_S = 300;

  private RealReplay() {}

  public static Replay run(Artifacts artifacts, Trace trace, int replicas, long seed)
      throws IOException {
    Path folder = Files.createTempDirectory("tranche-packing");
    var objects = new TraceObjects(trace, replicas);
    try (var plane = new ControlPlane(artifacts.kubernetes(), folder)) {
      objects.createNodes(plane.client());
      Path log = folder.resolve("extender.log");
      try (var extender = new ExtenderProcess(artifacts.root(), plane, log, "--policy=packed")) {
        Await.until("the extender to be ready", WAIT_S, extender::ready);
        try (var streams =
            new SimulatedNodes(plane.client(), extender.streamPort(), objects.gpus())) {
          int nodes = trace.nodes().size();
          Await.until("every node to be heard", WAIT_S, () -> extender.hasStreams(nodes));
          plane.startScheduler(
              "percentageOfNodesToScore: 100\n"
                  + extender.schedulerExtender()
                  + extender.schedulerPacker());
          Replay replay = replay(plane, objects, seed);
          if (!extender.hasStreams(nodes)) {
            throw new IllegalStateException(
                "some nodes were not heard any more: the figures are of fewer; see " + log);
          }
          return replay;
        }
      }
    }
  }

  private static Replay replay(ControlPlane plane, TraceObjects objects, long seed) {
    try (var verdicts = new PodOutcomes(plane.client(), NAMESPACE)) {
      Trace trace = objects.trace();
      return Replay.of(
          trace.arrivals(seed),
          trace.totalMilli(),
          (number, pod) -> {
            String name = "pod-" + number;
            return verdicts.offer(name, objects.pod(name, pod));
          });
    }
  }
}
