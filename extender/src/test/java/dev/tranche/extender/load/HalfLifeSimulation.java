package dev.tranche.extender.load;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Prioritize;
import dev.tranche.extender.verb.RecentlyFilteredPods;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * What averaging of the measured load is worth. Pods that use more or less than they ask for come
 * and go on 200 GPUs, 70 % of the replicas asked for, and work is lost where more is wanted than a
 * GPU has. The extender's own filter and prioritize place them by readings of every second. Time is
 * simulated, so a seed has the same outcome on every machine.
 */
final class HalfLifeSimulation {
  private static final int NODES = 25;
  private static final int GPUS = 8;
  private static final int REPLICAS = 10;
  private static final int PODS = 1_200;
  private static final int LEVEL = 7 * NODES * GPUS * REPLICAS / 10;
  private static final int OFFERED_MAX = 64;
  private static final int[] SHARES = {1, 1, 1, 2, 2, 2, 3, 3, 5, 5};
  private static final double LIFE_S = 300;

  /** Until the level is reached first. */
  private static final double FILL_S = 0.6 * LIFE_S;

  private static final double BUSY_RATIO = 0.5;

  /** As a node plugin reports. */
  private static final double CHANGE = 0.05;

  private static final int REPORT_EVERY_S = 5;

  /** How pods use what they use in the mean. */
  enum Use {
    STEADY(0),
    BURSTS_OF_SECONDS(4),
    BURSTS_OF_HALF_A_MINUTE(30);

    /** Mean length of a burst, and of the pause after it. */
    private final double burstS;

    Use(double burstS) {
      this.burstS = burstS;
    }
  }

  /**
   * Of the means that pods are placed by; 0: by the last reading alone.
   *
   * @param gpuS of a GPU's load, which its node averages
   * @param podS of what each pod uses, which the extender averages
   */
  record HalfLives(double gpuS, double podS) {
    @Override
    public String toString() {
      return String.format(Locale.ROOT, "GPU %.0f s, pod %.0f s", gpuS, podS);
    }
  }

  private static final class Pod {
    final PodFacts facts;
    final int share;
    final double use;
    final double lifeS;
    double endsS;
    boolean busy;

    Pod(int number, Random random) {
      share = SHARES[random.nextInt(SHARES.length)];
      int draw = random.nextInt(100);
      double times = draw < 50 ? 0.1 : draw < 80 ? 1 : draw < 95 ? 2 : 5;
      use = Math.min(1, times * share / REPLICAS);
      lifeS = LIFE_S * Math.clamp(-Math.log(1 - random.nextDouble()), 0.1, 5);
      busy = random.nextBoolean();
      facts = FakeWorld.pod("p" + number, share);
    }

    double busyRatio() {
      return Math.max(BUSY_RATIO, use);
    }

    /** What it wants in this second. */
    double wants(Use how) {
      return how == Use.STEADY ? use : busy ? use / busyRatio() : 0;
    }

    void advance(Use how, Random random) {
      if (how != Use.STEADY) {
        double lengthS = 2 * how.burstS * (busy ? busyRatio() : 1 - busyRatio());
        busy ^= random.nextDouble() * lengthS < 1;
      }
    }
  }

  private static final class Gpu {
    final String uuid;
    final GpuFacts facts;
    final List<Pod> pods = new ArrayList<>();
    double mean;
    double sentNow;
    double sentMean;

    Gpu(int node, int index) {
      uuid = "GPU-" + node + "-" + index;
      facts =
          new GpuFacts(
              uuid,
              index,
              "Tesla T4",
              Names.RESOURCE,
              REPLICAS,
              10 * FakeWorld.GIB,
              true,
              "",
              0,
              "",
              0);
    }

    /** The part of what is wanted that can be done: an H100 does about that. */
    double done(Use how) {
      double all = wanted(how);
      return all <= 1 ? 1 : 1 / all;
    }

    double wanted(Use how) {
      return pods.stream().mapToDouble(pod -> pod.wants(how)).sum();
    }

    /** What NVML says. */
    double now(Use how) {
      return Math.min(1, wanted(how));
    }
  }

  private final Use use;
  private final double gpuHalfLifeS;
  private final Random random;
  private final FakeWorld world;
  private final Filter filter;
  private final Prioritize prioritize;
  private final List<String> names = IntStream.range(0, NODES).mapToObj(i -> "node-" + i).toList();
  private final List<List<Gpu>> nodes = new ArrayList<>();
  private final Map<String, Gpu> byUuid = new HashMap<>();
  private final int[] sentS = new int[NODES];
  private final List<Pod> live = new ArrayList<>();
  private int allocated;
  private double wanted;
  private double lost;

  private HalfLifeSimulation(Use use, HalfLives halfLives, long seed) {
    this.use = use;
    this.gpuHalfLifeS = halfLives.gpuS();
    this.random = new Random(seed);
    this.world = new FakeWorld(Policy.LOAD, Timing.DEFAULT, Math.max(1, halfLives.podS() * 1_000));
    this.filter = world.filter(new RecentlyFilteredPods(), OFFERED_MAX);
    this.prioritize = world.prioritize();
    for (int node = 0; node < NODES; node++) {
      var gpus = new ArrayList<Gpu>();
      for (int index = 0; index < GPUS; index++) {
        gpus.add(new Gpu(node, index));
      }
      gpus.forEach(gpu -> byUuid.put(gpu.uuid, gpu));
      nodes.add(gpus);
    }
  }

  /**
   * Work that nobody could do, of all that was wanted.
   *
   * @param seed of the list of pods, which is the same for all half-lives
   */
  static double lostRatio(Use use, HalfLives halfLives, long seed) {
    var simulation = new HalfLifeSimulation(use, halfLives, seed);
    var draw = new Random(seed);
    Deque<Pod> coming = new ArrayDeque<>();
    for (int i = 0; i < PODS; i++) {
      coming.add(new Pod(i, draw));
    }
    simulation.run(coming);
    return simulation.lost / simulation.wanted;
  }

  private void run(Deque<Pod> coming) {
    boolean full = false;
    for (int nowS = 1; !coming.isEmpty(); nowS++) {
      world.nowMs += 1_000;
      end(nowS);
      full |= nowS >= FILL_S;
      double level = full ? LEVEL : LEVEL * nowS / FILL_S;
      boolean placed = true;
      while (placed && !coming.isEmpty() && allocated + coming.element().share <= level) {
        placed = place(coming.element(), nowS);
        if (placed) {
          coming.remove();
        }
      }
      advance(full);
      for (int node = 0; node < NODES; node++) {
        read(node, nowS);
      }
      world.tick();
    }
  }

  private void end(double nowS) {
    for (Pod pod : live.stream().filter(p -> p.endsS <= nowS).toList()) {
      live.remove(pod);
      byUuid.values().forEach(gpu -> gpu.pods.remove(pod));
      allocated -= pod.share;
      world.state.apply(new Event.PodGone(pod.facts.uid(), pod.facts.key()));
    }
  }

  /** As kube-scheduler does: any of the best nodes. */
  private boolean place(Pod pod, double nowS) {
    if (!(filter.filter(pod.facts, names, false) instanceof Filter.Answer.Nodes(var fit, var no))
        || fit.isEmpty()) {
      return false;
    }
    String node = fit.getFirst();
    if (fit.size() > 1) {
      Map<String, Integer> scores = prioritize.prioritize(pod.facts, fit);
      int most = Collections.max(scores.values());
      var best = new ArrayList<>(fit);
      best.removeIf(name -> scores.getOrDefault(name, 0) < most);
      node = best.get(random.nextInt(best.size()));
    }
    Placement placement = world.evaluator.evaluate(pod.facts, node).placement().orElseThrow();
    String uuid = placement.held().keySet().iterator().next();
    var bound = FakeWorld.pod(pod.facts.name(), pod.share, Names.GPU + "=" + uuid).on(node);
    world.state.apply(new Event.PodSeen(bound));
    byUuid.getOrDefault(uuid, nodes.getFirst().getFirst()).pods.add(pod);
    allocated += pod.share;
    pod.endsS = nowS + pod.lifeS;
    live.add(pod);
    return true;
  }

  private void advance(boolean counts) {
    live.forEach(pod -> pod.advance(use, random));
    for (Gpu gpu : counts ? byUuid.values() : List.<Gpu>of()) {
      double all = gpu.wanted(use);
      wanted += all;
      lost += all * (1 - gpu.done(use));
    }
  }

  private void read(int node, int nowS) {
    boolean due = nowS - sentS[node] >= REPORT_EVERY_S;
    for (Gpu gpu : nodes.get(node)) {
      double kept = gpuHalfLifeS == 0 ? 0 : Math.pow(0.5, 1 / gpuHalfLifeS);
      gpu.mean = gpu.mean * kept + gpu.now(use) * (1 - kept);
      due |= Math.abs(gpu.mean - gpu.sentMean) >= CHANGE;
      due |= Math.abs(gpu.now(use) - gpu.sentNow) >= CHANGE;
    }
    if (due || nowS == 1) {
      sentS[node] = nowS;
      report(node);
    }
  }

  private void report(int node) {
    var readings = new HashMap<String, LoadReading>();
    var facts = new ArrayList<GpuFacts>();
    for (Gpu gpu : nodes.get(node)) {
      gpu.sentMean = gpu.mean;
      gpu.sentNow = gpu.now(use);
      var byPod = new HashMap<String, Double>();
      // A node plugin keeps the sum within the GPU's utilization.
      double part = gpu.now(use) / Math.max(1e-9, gpu.wanted(use));
      gpu.pods.forEach(pod -> byPod.put(pod.facts.key(), pod.wants(use) * part));
      int processes = gpu.pods.size();
      readings.put(
          gpu.uuid,
          new LoadReading(0, gpu.mean, gpu.mean, processes, world.nowMs, Map.of(), byPod));
      facts.add(gpu.facts);
    }
    var state = new NodeState(true, facts, Map.of(), false, Map.of(), List.of());
    world.state.reported(
        new Event.Reported(names.get(node), state, OptionalLong.empty()), readings);
  }
}
