package dev.tranche.e2e.bench.load;

import dev.tranche.api.Names;
import dev.tranche.e2e.bench.plane.BoundPods;
import dev.tranche.e2e.bench.plane.ControlPlane;
import dev.tranche.e2e.bench.plane.Population;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
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
  private static final String PODS = "/api/v1/namespaces/" + Population.NAMESPACE + "/pods";
  private static final int AT_ONCE = 4;

  /** So much of the level counts as having reached it. */
  private static final double FULL = 0.98;

  /** Those that come last still get that long. */
  private static final double GRACE_S = 5;

  private record Seen(
      Workload.Pod pod, String node, @Nullable String uuid, String uid, double atS) {}

  private record Live(Seen seen, int gpu, double endsS) {}

  private final KubernetesClient client;
  private final Workload workload;
  private final SimulatedGpus places = new SimulatedGpus();
  private final RealUse use;
  private final @Nullable SimulatedNodes nodes;
  private final BlockingQueue<Seen> bound = new LinkedBlockingQueue<>();
  private final PriorityQueue<Live> live =
      new PriorityQueue<>((a, b) -> Double.compare(a.endsS, b.endsS));
  private final Map<Integer, Double> createdS = new HashMap<>();
  private final List<Future<?>> calls = new ArrayList<>();
  private final Map<String, Long> toldNanos;
  private final long startNanos = System.nanoTime();
  private final Map<Integer, Workload.Pod> waiting = new HashMap<>();
  private double waitedS;
  private int placed;
  private int boundReplicas;
  private boolean full;
  private double lastArrivalS = Double.MAX_VALUE;

  /**
   * @param nodes null: nobody asks for reports
   * @param toldNanos when its node was told of a pod, by uid
   */
  LoadRun(
      ControlPlane plane,
      Workload workload,
      @Nullable SimulatedNodes nodes,
      Map<String, Long> toldNanos) {
    this.toldNanos = toldNanos;
    this.client = plane.client();
    this.workload = workload;
    this.nodes = nodes;
    this.use = new RealUse(places.count(), SimulatedGpus.REPLICAS, Double.MAX_VALUE);
  }

  Contest.Result run() throws Exception {
    try (var watch = new BoundPods(client, Population.LABEL, this::seen);
        var api = Executors.newFixedThreadPool(AT_ONCE)) {
      drive(api);
      for (Future<?> call : calls) {
        call.get();
      }
    }
    if (nodes != null) {
      live.forEach(l -> nodes.ended(l.seen.node(), l.seen.uid()));
    }
    return new Contest.Result(use, waitedS / Math.max(1, placed), workload.pods().size() - placed);
  }

  private double nowS() {
    return atS(System.nanoTime());
  }

  private double atS(long nanos) {
    return (nanos - startNanos) / 1e9;
  }

  /** On the watch's thread. */
  private void seen(Pod pod) {
    var meta = pod.getMetadata();
    @Nullable String uuid = meta.getAnnotations().get(Names.GPU);
    var of = workload.pods().get(SimulatedGpus.podNumber(meta.getName()));
    bound.add(new Seen(of, pod.getSpec().getNodeName(), uuid, meta.getUid(), nowS()));
  }

  private void drive(ExecutorService api) throws InterruptedException {
    @Nullable Readings readings =
        nodes == null ? null : new Readings(use, places, nodes, this::nowS);
    double readS = -TimeScale.READ_EVERY_S;
    int next = 0;
    int all = workload.pods().size();
    while (placed < all && nowS() < lastArrivalS + GRACE_S) {
      while (next < all && due(workload.pods().get(next))) {
        create(workload.pods().get(next++), api);
        lastArrivalS = next == all ? nowS() : lastArrivalS;
      }
      while (!live.isEmpty() && live.element().endsS() <= nowS()) {
        end(live.remove(), api);
      }
      double now = nowS();
      if (now - readS >= TimeScale.READ_EVERY_S) {
        if (readings != null) {
          pass(now);
          readings.read(now - readS);
        }
        readS = now;
      }
      double waitS = Math.min(nextS(next), readS + TimeScale.READ_EVERY_S) - nowS();
      var seen = bound.poll((long) (Math.max(0, waitS) * 1e6), TimeUnit.MICROSECONDS);
      if (seen != null) {
        start(seen);
      }
    }
  }

  /** At its time, and as long as the level is not reached. */
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

  /** When something is due next that nobody tells us of. */
  private double nextS(int next) {
    List<Workload.Pod> pods = workload.pods();
    double arrivesS = next < pods.size() ? pods.get(next).arrivesS() : 0;
    double endsS = live.isEmpty() ? Double.MAX_VALUE : live.element().endsS();
    return arrivesS > nowS() ? Math.min(arrivesS, endsS) : endsS;
  }

  /** What comes after the last arrival is no longer measured: the cluster drains. */
  private void pass(double toS) {
    use.advance(Math.min(toS, lastArrivalS));
  }

  private void create(Workload.Pod pod, ExecutorService api) {
    createdS.put(pod.number(), nowS());
    waiting.put(pod.number(), pod);
    calls.add(api.submit(() -> client.raw(PODS, "POST", SimulatedGpus.json(pod))));
  }

  private void start(Seen seen) {
    pass(seen.atS());
    int gpu =
        seen.uuid() == null ? places.leastAllocated(seen.node(), use) : places.byUuid(seen.uuid());
    double toldS = toldS(seen);
    use.start(seen.pod(), gpu, toldS - TimeScale.KNOWN_AFTER_S, toldS);
    live.add(new Live(seen, gpu, seen.atS() + seen.pod().lifeS()));
    waitedS += seen.atS() - createdS.getOrDefault(seen.pod().number(), seen.atS());
    waiting.remove(seen.pod().number());
    boundReplicas += seen.pod().replicas();
    placed++;
    if (!full && boundReplicas >= FULL * workload.levelReplicas()) {
      full = true;
      use.count();
    }
  }

  /** When its node was told of it, or else whoever watches. */
  private double toldS(Seen seen) {
    Long told = toldNanos.get(seen.uid());
    return told == null ? seen.atS() : atS(told);
  }

  private void end(Live ended, ExecutorService api) {
    pass(ended.endsS());
    use.end(ended.seen().pod(), ended.gpu());
    boundReplicas -= ended.seen().pod().replicas();
    if (nodes != null) {
      nodes.ended(ended.seen().node(), ended.seen().uid());
    }
    String name = SimulatedGpus.podName(ended.seen().pod());
    calls.add(
        api.submit(
            () ->
                client
                    .pods()
                    .inNamespace(Population.NAMESPACE)
                    .withName(name)
                    .withGracePeriod(0)
                    .delete()));
  }
}
