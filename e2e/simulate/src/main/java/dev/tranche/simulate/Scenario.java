package dev.tranche.simulate;

import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Kind;
import dev.tranche.extender.score.Policy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What a seed decides before the run: the cluster, the pods that come, and what goes wrong.
 *
 * @param gpusOfNodes how many GPUs each node has
 * @param calmMs when the last fault is over and no pod comes or goes any more
 */
record Scenario(
    long seed,
    Policy policy,
    List<Integer> gpusOfNodes,
    List<PodPlan> pods,
    List<Fault> faults,
    long calmMs) {
  /** A few are never created, since their name is taken until the end. */
  static final int PODS = 365;

  static final int REPLICAS = 10;

  /** Of so many nodes, one is added while pods come and go. */
  private static final int ADDED_ONE_IN = 8;

  /** Of so many seeds, one has no fault: what happens there has no excuse. */
  private static final int FAULTLESS_ONE_IN = 5;

  private static final long FIRST_MS = 8_000;
  private static final long CHAOS_MS = 300_000;
  private static final long CALM_AFTER_MS = 20_000;
  private static final int MORE_FAULTS_MAX = 30;
  private static final int[] SIZES = {1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 10, 10};
  private static final int[] RECUTS = {4, 5, 8, 20};
  private static final int NAMES = 90;

  Scenario {
    gpusOfNodes = List.copyOf(gpusOfNodes);
    pods = List.copyOf(pods);
    faults = List.copyOf(faults);
  }

  boolean faultless() {
    return faults.isEmpty();
  }

  /** Whether kube-scheduler evicts beside its next attempts, which is its default since 1.33. */
  boolean asynchronousPreemption() {
    return seed % 2 == 0;
  }

  /** Returns when a node is added. */
  long addedMs(int node) {
    SplittableRandom random = new Randoms(seed).of("node " + node);
    return random.nextInt(ADDED_ONE_IN) == 0 ? FIRST_MS + random.nextLong(CHAOS_MS) : 0;
  }

  Scenario with(List<PodPlan> otherPods, List<Fault> otherFaults) {
    return new Scenario(seed, policy, gpusOfNodes, otherPods, otherFaults, calmMs);
  }

  static Scenario of(long seed) {
    SplittableRandom random = new Randoms(seed).of("scenario");
    Policy policy =
        switch (random.nextInt(3)) {
          case 0 -> Policy.PACKED;
          case 1 -> Policy.SPREAD;
          default -> Policy.LOAD;
        };
    var gpus = new ArrayList<Integer>();
    int nodes = 20 + random.nextInt(31);
    // Fewer GPUs than the pods need at the busiest time, so that about a third of them waits.
    for (int i = 0; i < nodes; i++) {
      gpus.add(nodes < 30 ? 1 + random.nextInt(4) / 3 : 1 + random.nextInt(12) / 11);
    }
    return new Scenario(
        seed,
        policy,
        gpus,
        pods(random, new Randoms(seed).of("plain numbers"), new Randoms(seed).of("containers")),
        seed % FAULTLESS_ONE_IN == 0 ? List.of() : faults(random, nodes),
        FIRST_MS + CHAOS_MS + CALM_AFTER_MS);
  }

  /**
   * @param plainSizes for numbers that one GPU may not have; other draws stay as they are
   * @param containers for pods of several containers
   */
  private static List<PodPlan> pods(
      SplittableRandom random, SplittableRandom plainSizes, SplittableRandom containers) {
    var pods = new ArrayList<PodPlan>();
    for (int i = 0; i < PODS; i++) {
      long createdMs = FIRST_MS + random.nextLong(CHAOS_MS - 20_000);
      if (random.nextInt(4) == 0) {
        // In bursts, as of a Job.
        createdMs = createdMs / 60_000 * 60_000 + FIRST_MS + random.nextInt(300);
      }
      boolean named = random.nextInt(3) == 0;
      boolean deleted = random.nextInt(3) == 0;
      long grace = random.nextLong(random.nextInt(4) == 0 ? 8_000 : 1_500);
      String name = named ? "web-" + random.nextInt(NAMES) : "p" + i;
      int size = SIZES[random.nextInt(SIZES.length)];
      boolean plain = random.nextInt(8) == 0;
      boolean large = plain && plainSizes.nextInt(2) == 0;
      pods.add(
          new PodPlan(
              i,
              createdMs,
              name,
              requests(
                  large ? 1 + REPLICAS + plainSizes.nextInt(REPLICAS) : size, plain, containers),
              plain ? 0 : REPLICAS,
              priority(random),
              80_000 + random.nextLong(240_000),
              deleted ? 1 + random.nextLong(90_000) : 0,
              random.nextInt(3) == 0,
              grace));
    }
    pods.sort(Comparator.comparingLong(PodPlan::createdMs).thenComparingInt(PodPlan::number));
    return pods;
  }

  /** Most pods have one container; the kubelet passes an init container's replicas on. */
  private static List<Demand.Request> requests(
      int size, boolean plain, SplittableRandom containers) {
    var requests = new ArrayList<Demand.Request>();
    boolean several = containers.nextInt(5) == 0;
    if (several && containers.nextInt(2) == 0) {
      int most = plain ? 2 * REPLICAS : REPLICAS;
      requests.add(new Demand.Request("init", Kind.INIT, 1 + containers.nextInt(most)));
    }
    if (several && containers.nextInt(3) == 0) {
      requests.add(new Demand.Request("proxy", Kind.SIDECAR, 1 + containers.nextInt(2)));
    }
    if (several && containers.nextInt(6) == 0) {
      requests.add(new Demand.Request("second-init", Kind.INIT, 1 + containers.nextInt(3)));
    }
    requests.add(new Demand.Request("main", Kind.APP, size));
    if (several && containers.nextInt(3) == 0) {
      requests.add(new Demand.Request("second", Kind.APP, 1 + containers.nextInt(3)));
    }
    return requests;
  }

  private static int priority(SplittableRandom random) {
    return switch (random.nextInt(10)) {
      case 0 -> 1_000;
      case 1, 2 -> 100;
      default -> 0;
    };
  }

  /** Each kind once, and some more of any kind. */
  private static List<Fault> faults(SplittableRandom random, int nodes) {
    var faults = new ArrayList<Fault>();
    for (Fault.Kind kind : Fault.Kind.values()) {
      for (int i = 0; i < often(kind); i++) {
        faults.add(fault(random, kind, nodes));
      }
    }
    int more = random.nextInt(MORE_FAULTS_MAX);
    for (int i = 0; i < more; i++) {
      Fault.Kind[] kinds = Fault.Kind.values();
      faults.add(fault(random, kinds[random.nextInt(kinds.length)], nodes));
    }
    faults.sort(Comparator.comparingLong(Fault::atMs));
    return faults;
  }

  /** What concerns one node of many must happen more often to meet a pod. */
  private static int often(Fault.Kind kind) {
    return switch (kind) {
      case RECUT, KUBELET_LIST_HANGS, KUBELET_STALE -> 5;
      case ANSWERS_LOST -> 2;
      case PLUGIN_KILLED, PLUGIN_STATE_LOST, KUBELET_KILLED, GPU_LOST -> 3;
      default -> 1;
    };
  }

  private static Fault fault(SplittableRandom random, Fault.Kind kind, int nodes) {
    long beginsWithinMs =
        switch (kind) {
          case STALE_VIEW, ALL_VIEWS_STALE -> 60_000;
          // It waits for a pod on a healthy GPU.
          case GPU_FAULTY_BEFORE_ADMISSION -> 120_000;
          default -> CHAOS_MS - 100_000;
        };
    long atMs = FIRST_MS + 10_000 + random.nextLong(beginsWithinMs);
    long forMs =
        switch (kind) {
          case STALE_VIEW, ALL_VIEWS_STALE -> 20_000 + random.nextLong(100_000);
          case KUBELET_STALE, NODE_REMOVED -> 2_000 + random.nextLong(38_000);
          case SCHEDULER_STALE -> 2_000 + random.nextLong(52_000);
          case EXTENDER_FROZEN, EXTENDER_SUSPENDED -> 1_000 + random.nextLong(25_000);
          case EXTENDER_KILLED, CRASH_BEFORE_BINDING, CRASH_AFTER_BINDING ->
              500 + random.nextLong(8_000);
          case PLUGIN_KILLED, PLUGIN_STATE_LOST, KUBELET_KILLED, SCHEDULER_KILLED ->
              500 + random.nextLong(5_000);
          case GPU_LOST, GPU_FAULTY, GPU_FAULTY_BEFORE_ADMISSION, GPU_CORDONED ->
              10_000 + random.nextLong(44_000);
          default -> 1_000 + random.nextLong(20_000);
        };
    // A plugin that loses its state cannot know what an earlier config has granted.
    int node = random.nextInt(nodes / 2) * 2;
    int target =
        switch (kind) {
          case RECUT -> node;
          case PLUGIN_STATE_LOST -> node + 1 < nodes ? node + 1 : 1;
          default -> random.nextInt(nodes);
        };
    int value =
        switch (kind) {
          case RECUT -> RECUTS[random.nextInt(RECUTS.length)];
          case CLOCK_JUMP -> random.nextInt(-40_000, 40_000);
          default -> 0;
        };
    return new Fault(kind, atMs, forMs, target, value);
  }
}
