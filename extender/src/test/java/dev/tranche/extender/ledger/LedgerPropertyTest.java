package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.Placement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * A cluster at random: pods are placed by what the Ledger says is free, bound, seen, reported and
 * ended, with events late, twice or lost for a while. Whatever happens, no GPU is over its replicas
 * and nothing is left when all pods have ended.
 */
final class LedgerPropertyTest {
  private static final int RUNS = 300;
  private static final int STEPS = 250;
  private static final int NODES = 3;
  private static final int GPUS = 2;
  private static final int REPLICAS = 10;

  @Test
  void anyInterleaving_neverOverCapacityNeverALeak() {
    for (long seed = 1; seed <= RUNS; seed++) {
      new Run(seed).go();
    }
  }

  private static final class Run {
    private final long seed;
    private final RandomGenerator random;
    private final Ledger ledger = new Ledger(Timing.DEFAULT);

    /** What the API server knows: pods by uid. */
    private final Map<String, PodFacts> cluster = new HashMap<>();

    /** Where the kubelet really put them. */
    private final Map<String, Placement> real = new HashMap<>();

    private final List<Event> late = new ArrayList<>();
    private long nowMs = 1_000;
    private int pods;

    Run(long seed) {
      this.seed = seed;
      this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
    }

    void go() {
      for (int node = 0; node < NODES; node++) {
        report(node);
      }
      for (int step = 0; step < STEPS; step++) {
        nowMs += random.nextInt(2_000);
        act();
        neverOver(step);
      }
      endAll();
      for (int node = 0; node < NODES; node++) {
        assertThat(ledger.holds(name(node))).as("leak, seed %d", seed).isEmpty();
      }
      assertThat(ledger.pods()).as("pods, seed %d", seed).isEmpty();
    }

    private void act() {
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> schedule();
        case 3 -> finishOne();
        case 4 -> report(random.nextInt(NODES));
        case 5 -> apply(new Event.Tick());
        case 6 -> deliver();
        default -> {
          apply(new Event.StreamLost(name(random.nextInt(NODES))));
          report(random.nextInt(NODES));
        }
      }
    }

    /** Reserve, perhaps elsewhere, then bind, which may fail or answer too late. */
    private void schedule() {
      var pod = pod("pod-" + pods++, null, false);
      @Nullable Found found = find(pod, 1 + random.nextInt(REPLICAS));
      if (found == null) {
        return;
      }
      PodFacts asked = withReplicas(pod, found.replicas(), null, false);
      apply(new Event.Reserve(asked, name(found.node()), found.placement()));
      if (random.nextInt(5) == 0) {
        return;
      }
      apply(new Event.BindStarted(asked, name(found.node()), found.placement()));
      switch (random.nextInt(4)) {
        case 0 -> apply(new Event.BindFailed(asked.uid()));
        case 1 -> {
          apply(new Event.BindUnknown(asked.uid()));
          bound(asked, found);
        }
        default -> {
          apply(new Event.BindDone(asked.uid()));
          bound(asked, found);
        }
      }
    }

    private void bound(PodFacts asked, Found found) {
      int replicas = found.replicas();
      PodFacts bound = withReplicas(asked, replicas, name(found.node()), false);
      cluster.put(bound.uid(), bound);
      real.put(bound.uid(), found.placement());
      late.add(new Event.PodSeen(bound));
      if (random.nextBoolean()) {
        deliver();
      }
    }

    private record Found(int node, Placement placement, int replicas) {}

    private @Nullable Found find(PodFacts pod, int replicas) {
      int node = random.nextInt(NODES);
      NodeView view = ledger.view(name(node), h -> !h.uid().equals(pod.uid()), nowMs);
      if (view.availability() != NodeView.Availability.AVAILABLE) {
        return null;
      }
      return view.gpus().stream()
          .filter(g -> g.freeReplicas() >= replicas)
          .findFirst()
          .map(g -> new Found(node, on(g.facts().uuid(), replicas), replicas))
          .orElse(null);
    }

    private void finishOne() {
      var uids = new ArrayList<>(cluster.keySet());
      if (!uids.isEmpty()) {
        finish(uids.get(random.nextInt(uids.size())));
      }
    }

    private void finish(String uid) {
      PodFacts pod = cluster.remove(uid);
      real.remove(uid);
      if (pod == null) {
        return;
      }
      if (random.nextBoolean()) {
        late.add(new Event.PodSeen(withReplicas(pod, replicas(pod), pod.node(), true)));
      }
      late.add(new Event.PodGone(uid, pod.key()));
    }

    /** Watch events come in order, but as late as they like, and some twice. */
    private void deliver() {
      int many = random.nextInt(late.size() + 1);
      for (int i = 0; i < many; i++) {
        Event event = late.removeFirst();
        apply(event);
        if (random.nextInt(4) == 0) {
          apply(event);
        }
      }
    }

    private void report(int node) {
      var gpus = new ArrayList<GpuFacts>();
      for (int gpu = 0; gpu < GPUS; gpu++) {
        gpus.add(LedgerTest.gpu(uuid(node, gpu), gpu));
      }
      var holdings = new HashMap<String, Map<String, Map<String, Integer>>>();
      cluster.forEach(
          (uid, pod) -> {
            if (name(node).equals(pod.node()) && random.nextInt(3) > 0) {
              holdings.put(
                  pod.key(),
                  Map.of("main", java.util.Objects.requireNonNull(real.get(uid)).held()));
            }
          });
      var state = new NodeState(true, gpus, holdings, random.nextInt(5) > 0, List.of());
      apply(new Event.Reported(name(node), state));
    }

    private void endAll() {
      List.copyOf(cluster.keySet()).forEach(this::finish);
      while (!late.isEmpty()) {
        deliver();
      }
      nowMs += Timing.DEFAULT.unknownBindMs() + Timing.DEFAULT.tentativeMs();
      apply(new Event.Tick());
    }

    private void neverOver(int step) {
      for (int node = 0; node < NODES; node++) {
        for (NodeView.Gpu gpu : ledger.view(name(node), h -> true, nowMs).gpus()) {
          assertThat(gpu.heldReplicas())
              .as("%s at step %d of seed %d", gpu.facts().uuid(), step, seed)
              .isBetween(0, REPLICAS);
        }
      }
    }

    private void apply(Event event) {
      ledger.apply(event, nowMs);
    }
  }

  private static String name(int node) {
    return "node-" + node;
  }

  private static String uuid(int node, int gpu) {
    return "gpu-" + node + "-" + gpu;
  }

  private static Placement on(String uuid, int replicas) {
    var share = new Placement.Share(uuid, replicas);
    return Placement.of(List.of(new Placement.Container("main", List.of(share))));
  }

  private static PodFacts pod(String uid, @Nullable String node, boolean ended) {
    return new PodFacts(uid, "ns", uid, node, ended, false, Names.RESOURCE, List.of(), Map.of());
  }

  private static int replicas(PodFacts pod) {
    return pod.requests().getFirst().replicas();
  }

  private static PodFacts withReplicas(
      PodFacts pod, int replicas, @Nullable String node, boolean ended) {
    var request = new Demand.Request("main", Demand.Kind.APP, replicas);
    return new PodFacts(
        pod.uid(),
        "ns",
        pod.name(),
        node,
        ended,
        false,
        Names.RESOURCE,
        List.of(request),
        Map.of(Names.REPLICAS_PER_GPU, "10"));
  }
}
