package dev.tranche.e2e.bench.soak;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Tranche;
import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.InvariantWatch;
import dev.tranche.extender.invariant.Invariants;
import dev.tranche.extender.invariant.ObservedCluster;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/**
 * Lets pods of all kinds come and go on a real cluster of three nodes while a fault strikes every
 * 20 s. After six faults nothing fails until all invariants hold again.
 */
public final class SoakBench {
  static final String NAMESPACE = "soak";
  private static final Duration BETWEEN = Duration.ofSeconds(20);
  private static final Duration LOOK = Duration.ofSeconds(2);
  private static final int FAULTS_PER_ROUND = 6;
  private static final int BACK_WITHIN_S = 240;

  private final Tranche tranche;
  private final Violations violations = new Violations();
  private final Growth growth = new Growth();
  private final PodWatch watch;
  private final Observer observer;
  private final Churn churn;
  private final Target target;
  private final Random random;

  /** The names of the faults that were tried, and of those that struck. */
  private final Set<String> tried = new TreeSet<>();

  private final Set<String> effective = new TreeSet<>();

  private int struck;

  private SoakBench(Tranche tranche, Random random) {
    this.tranche = tranche;
    this.random = random;
    watch = new PodWatch(tranche.client(), violations);
    observer = new Observer(tranche, watch, violations);
    churn = new Churn(tranche, NAMESPACE, watch, new Random(random.nextLong()));
    target = new Target(tranche, watch, churn);
  }

  /**
   * What a soak has seen.
   *
   * @param faults those that struck
   * @param revisions of pods that were checked
   */
  public record Outcome(int faults, int pods, long revisions, int violations) {}

  /**
   * @param minutes how long pods come and go; the last round ends later
   * @param seed decides the order of faults and what pods request, and not when the cluster does
   *     what
   */
  public static Outcome run(Artifacts artifacts, int minutes, long seed) throws Exception {
    System.err.println("the order of faults and pods is that of --seed " + seed);
    var nodes = new LinkedHashMap<String, List<Model>>();
    for (String node : List.of("one", "two", "three")) {
      nodes.put(node, List.of(Model.T4, Model.T4));
    }
    var plan =
        new Tranche.Plan(
            artifacts.root().resolve("target/soak"),
            nodes,
            gpus -> {},
            Map.of("plainRequests", "replicas", "nodePlugin.healthQuietPeriod", "15s"),
            false,
            step -> System.err.println(step));
    try (Tranche tranche = Tranche.start(artifacts, plan)) {
      var soak = new SoakBench(tranche, new Random(seed));
      try {
        return soak.run(Duration.ofMinutes(minutes));
      } finally {
        soak.churn.close();
        soak.watch.close();
      }
    }
  }

  private Outcome run(Duration length) throws Exception {
    long start = System.nanoTime();
    target.createNamespace(NAMESPACE);
    Deque<Fault> faults = new ArrayDeque<>();
    do {
      for (int i = 0; i < FAULTS_PER_ROUND && left(start, length); i++) {
        if (faults.isEmpty()) {
          faults.addAll(Faults.shuffled(random));
        }
        strike(faults.remove());
      }
      calm();
    } while (left(start, length));
    watch.reopen();
    churn.close();
    Await.until("all pods to be gone", BACK_WITHIN_S, () -> watch.pods().isEmpty());
    calm();
    Logs.read(tranche, violations);
    tried.removeAll(effective);
    tried.forEach(name -> violations.add("fault_never_struck", name, "it was tried"));
    return new Outcome(struck, churn.created(), watch.revisions(), violations.count());
  }

  private static boolean left(long startNanos, Duration length) {
    return System.nanoTime() - startNanos < length.toNanos();
  }

  /** Lets a fault strike, and checks what must hold at each moment until it is over. */
  private void strike(Fault fault) throws Exception {
    long start = System.nanoTime();
    tried.add(fault.name());
    target.choose(random.nextLong());
    boolean strikes = false;
    while (!strikes && left(start, BETWEEN)) {
      strikes = strikes(fault);
    }
    struck += strikes ? 1 : 0;
    while (left(start, BETWEEN)) {
      Invariants.safety(observer.cluster()).forEach(violations::add);
      sleep(LOOK.toMillis());
    }
    fault.end().on(target);
  }

  /** A part that an earlier fault has ended may not be back yet. */
  private boolean strikes(Fault fault) throws Exception {
    try {
      System.err.println(fault.name() + ": " + fault.strike().on(target));
      effective.add(fault.name());
      return true;
    } catch (KubernetesClientException | IllegalStateException | AssertionError notNow) {
      System.err.println(fault.name() + " did not strike: " + notNow.getMessage());
      sleep(LOOK.toMillis());
      return false;
    }
  }

  /** Returns when all holds again, or a violation has lasted for too long. */
  private void calm() {
    churn.pause(true);
    awaitParts();
    watch.reopen();
    var standing = new InvariantWatch();
    boolean holds = false;
    boolean broken = false;
    while (!holds && !broken) {
      List<ObservedCluster> clusters = observer.calmClusters();
      List<Finding> findings =
          clusters.stream()
              .flatMap(cluster -> Invariants.all(cluster).stream())
              .distinct()
              .toList();
      long nowMs = Duration.ofNanos(System.nanoTime()).toMillis();
      List<Finding> tooLong = standing.update(findings, nowMs);
      tooLong.forEach(violations::add);
      broken = !tooLong.isEmpty();
      holds = !clusters.isEmpty() && findings.isEmpty();
      sleep(LOOK.toMillis());
    }
    growth.sample(tranche, violations);
    churn.pause(false);
    System.err.println("calm: %d pods, %d faults".formatted(churn.created(), struck));
  }

  private void awaitParts() {
    try {
      Await.until("all parts to be back", BACK_WITHIN_S, this::isBack, tranche::unready);
    } catch (AssertionError never) {
      violations.add("part_not_back", "after fault " + struck, String.valueOf(never.getMessage()));
    }
  }

  private boolean isBack() {
    try {
      int all = Tranche.REPLICAS_PER_GPU * 2;
      return tranche.isReady()
          && tranche.allocatable().values().stream().allMatch(count -> count == all);
    } catch (KubernetesClientException notYet) {
      return false;
    }
  }

  static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }
}
