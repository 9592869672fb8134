package dev.tranche.e2e.bench.load;

import dev.tranche.api.Names;
import dev.tranche.e2e.bench.plane.BoundPods;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.plane.ControlPlane;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs one workload through one running scheduler. Pods are created when they arrive, use GPUs from
 * the moment they are seen to be bound, and are deleted when their life is over.
 */
final class LoadRun {
  private static final String PODS = "/api/v1/namespaces/" + ClusterObjects.NAMESPACE + "/pods";
  private static final int AT_ONCE = 4;

  /** The part of the level from which the level counts as reached. */
  private static final double FULL = 0.98;

  /** The time that remains to place pods after the last arrival. */
  private static final double GRACE_S = 5;

  private record Binding(
      Workload.Pod pod, String node, @Nullable String uuid, String uid, double atS) {}

  private record RunningPod(Binding binding, int gpu, double endsS) {}

  private final KubernetesClient client;
  private final Workload workload;
  private final GpuNumbering gpus = new GpuNumbering();
  private final SimulatedUse use;
  private final @Nullable SimulatedNodes nodes;
  private final BlockingQueue<Binding> bound = new LinkedBlockingQueue<>();
  private final PriorityQueue<RunningPod> running =
      new PriorityQueue<>((a, b) -> Double.compare(a.endsS, b.endsS));
  private final Map<Integer, Double> createdS = new HashMap<>();
  private final List<Future<?>> calls = new ArrayList<>();
  private final long startNanos = System.nanoTime();
  private final Map<Integer, Workload.Pod> waiting = new HashMap<>();

  private int boundPods;
  private int boundReplicas;
  private boolean full;
  private double lastArrivalS = Double.MAX_VALUE;

  /**
   * @param nodes null if nothing needs reports
   */
  LoadRun(ControlPlane plane, Workload workload, @Nullable SimulatedNodes nodes) {
    this.client = plane.client();
    this.workload = workload;
    this.nodes = nodes;
    this.use = new SimulatedUse(gpus.count(), GpuNumbering.REPLICAS, Double.MAX_VALUE);
  }

  SimulatedUse run() throws Exception {
    try (var watch = new BoundPods(client, ClusterObjects.LABEL, this::onBound);
        var api = Executors.newFixedThreadPool(AT_ONCE)) {
      drive(api);
      for (Future<?> call : calls) {
        call.get();
      }
    }
    if (nodes != null) {
      running.forEach(l -> nodes.endPod(l.binding.node(), l.binding.uid()));
    }
    return use;
  }

  private double nowS() {
    return (System.nanoTime() - startNanos) / 1e9;
  }

  /** On the watch's thread. */
  private void onBound(Pod pod) {
    var meta = pod.getMetadata();
    @Nullable String uuid = meta.getAnnotations().get(Names.GPU);
    var of = workload.pods().get(GpuNumbering.podNumber(meta.getName()));
    bound.add(new Binding(of, pod.getSpec().getNodeName(), uuid, meta.getUid(), nowS()));
  }

  private void drive(ExecutorService api) throws InterruptedException {
    @Nullable Readings readings = nodes == null ? null : new Readings(use, gpus, nodes);
    double readS = -TimeScale.READ_EVERY_S;
    int next = 0;
    int all = workload.pods().size();
    while (boundPods < all && nowS() < lastArrivalS + GRACE_S) {
      while (next < all && due(workload.pods().get(next))) {
        create(workload.pods().get(next++), api);
        lastArrivalS = next == all ? nowS() : lastArrivalS;
      }
      while (!running.isEmpty() && running.element().endsS() <= nowS()) {
        end(running.remove(), api);
      }
      double now = nowS();
      if (now - readS >= TimeScale.READ_EVERY_S) {
        if (readings != null) {
          advance(now);
          readings.read(now - readS);
        }
        readS = now;
      }
      double waitS = Math.min(nextS(next), readS + TimeScale.READ_EVERY_S) - nowS();
      var binding = bound.poll((long) (Math.max(0, waitS) * 1e6), TimeUnit.MICROSECONDS);
      if (binding != null) {
        start(binding);
      }
    }
  }

  /** Returns whether a pod's time has come and the level leaves space for it. */
  private boolean due(Workload.Pod pod) {
    double now = nowS();
    if (pod.arrivesS() > now) {
      return false;
    }
    int taken = boundReplicas;
    for (Workload.Pod other : waiting.values()) {
      boolean soon = now - createdS.getOrDefault(other.number(), now) < TimeScale.WAITS_S;
      taken += soon ? other.replicas() : 0;
    }
    return taken + pod.replicas() <= workload.levelReplicas();
  }

  /** Returns when the next pod arrives or ends, which no watch event announces. */
  private double nextS(int next) {
    List<Workload.Pod> pods = workload.pods();
    double arrivesS = next < pods.size() ? pods.get(next).arrivesS() : 0;
    double endsS = running.isEmpty() ? Double.MAX_VALUE : running.element().endsS();
    return arrivesS > nowS() ? Math.min(arrivesS, endsS) : endsS;
  }

  /**
   * Advances the simulation. Nothing after the last arrival is measured, since the cluster then
   * drains.
   */
  private void advance(double toS) {
    use.advance(Math.min(toS, lastArrivalS));
  }

  private void create(Workload.Pod pod, ExecutorService api) {
    createdS.put(pod.number(), nowS());
    waiting.put(pod.number(), pod);
    calls.add(api.submit(() -> client.raw(PODS, "POST", GpuNumbering.json(pod))));
  }

  private void start(Binding binding) {
    advance(binding.atS());
    int gpu =
        binding.uuid() == null
            ? gpus.leastAllocated(binding.node(), use)
            : gpus.byUuid(binding.uuid());
    use.start(binding.pod(), gpu);
    running.add(new RunningPod(binding, gpu, binding.atS() + binding.pod().lifeS()));
    boundPods++;
    waiting.remove(binding.pod().number());
    boundReplicas += binding.pod().replicas();
    if (!full && boundReplicas >= FULL * workload.levelReplicas()) {
      full = true;
      use.startCounting();
    }
  }

  private void end(RunningPod ended, ExecutorService api) {
    advance(ended.endsS());
    use.end(ended.binding().pod(), ended.gpu());
    boundReplicas -= ended.binding().pod().replicas();
    if (nodes != null) {
      nodes.endPod(ended.binding().node(), ended.binding().uid());
    }
    String name = GpuNumbering.podName(ended.binding().pod());
    calls.add(
        api.submit(
            () ->
                client
                    .pods()
                    .inNamespace(ClusterObjects.NAMESPACE)
                    .withName(name)
                    .withGracePeriod(0)
                    .delete()));
  }
}
