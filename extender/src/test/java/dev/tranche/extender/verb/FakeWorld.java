package dev.tranche.extender.verb;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.score.Policy;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Nodes and an API server that only remember what they were told, and a clock that stands unless it
 * is told to step.
 */
public final class FakeWorld implements Nodes, Api {
  static final long GIB = 1L << 30;
  final List<String> woken = new ArrayList<>();
  final Map<String, String> told = new HashMap<>();
  final Map<String, PodFacts> onServer = new HashMap<>();
  final List<Assignment> assigned = new ArrayList<>();
  final MeterRegistry registry;
  long nowMs = 100_000;

  /** So much passes whenever somebody looks at the clock. */
  long stepMs;

  /** What kubelets list, of whatever node. */
  Map<String, Map<String, Map<String, Integer>>> holdings = Map.of();

  Future<?> patched = Future.succeededFuture();
  BindOutcome outcome = new BindOutcome.Bound();

  /** What becomes of an assignment that is sent. */
  Future<Void> acknowledged = Future.succeededFuture();

  /** What the API server's call ends with instead of its outcome. */
  @Nullable Throwable failure;

  /** What is thrown instead of sending an assignment. */
  @Nullable Error unassignable;

  final List<Supplier<Optional<String>>> expiries = new ArrayList<>();
  final List<String> retracted = new ArrayList<>();

  public final ExtenderMetrics metrics;
  final Ledger ledger = new Ledger(Timing.DEFAULT);
  final LoadCache loads =
      new LoadCache(15_000, Timing.DEFAULT.halfLifeMs(), Timing.DEFAULT.newcomerMs());
  final Evaluations evaluations;
  final NodeEvaluator evaluator;
  final Packing packing = new Packing();
  final Waiting waiting;
  final Nominees nominees = new Nominees(ledger, this::nowMs);
  final BudgetStore budgets = new BudgetStore();
  final Explanations explanations = new Explanations(this::explainRejection);
  public final ReadinessGate readiness = new ReadinessGate(ledger::allReported, this::nowMs);
  final StateWriter state;
  final NominationPlanner nominations;
  final PodWaker podWaker;

  FakeWorld(Policy policy) {
    this(policy, MemoryGuard.ENFORCE);
  }

  FakeWorld(Policy policy, MemoryGuard guard) {
    this(policy, guard, new SimpleMeterRegistry());
    synced();
  }

  private FakeWorld(Policy policy, MemoryGuard guard, MeterRegistry registry) {
    this.registry = registry;
    this.metrics = new ExtenderMetrics(registry);
    var fleet = new Fleet(ledger, loads, Timing.DEFAULT, guard);
    evaluations = new Evaluations(ledger, loads, fleet);
    evaluator = new NodeEvaluator(ledger, fleet, evaluations, policy, this::nowMs);
    waiting = new Waiting(ledger, evaluations, fleet, metrics);
    state =
        new StateWriter(
            ledger,
            loads,
            evaluations,
            packing,
            waiting,
            nominees,
            new PodChecks(this::pod, metrics),
            this,
            metrics,
            this::nowMs);
    nominations =
        new NominationPlanner(nominees, ledger, loads, evaluator, budgets, state, this::nowMs);
    podWaker = new PodWaker(readiness, ledger, evaluator, waiting, this, metrics, this::nowMs);
  }

  /** One that has read neither pods nor nodes. */
  public static FakeWorld unread(MeterRegistry registry) {
    return new FakeWorld(Policy.LOAD, MemoryGuard.ENFORCE, registry);
  }

  public void synced() {
    readiness.synced();
    state.apply(new Event.Synced());
  }

  long nowMs() {
    return nowMs += stepMs;
  }

  void tick() {
    state.tick();
    podWaker.tick();
  }

  Filter filter() {
    return filter(new Asked(), 0);
  }

  public Filter filter(Asked asked, int offeredMax) {
    return new Filter(
        readiness,
        ledger,
        evaluator,
        nominations,
        state,
        packing,
        explanations,
        asked,
        metrics,
        offeredMax);
  }

  public Prioritize prioritize() {
    return new Prioritize(readiness, ledger, evaluator, state, packing, explanations, metrics);
  }

  public Preempt preempt() {
    return new Preempt(
        readiness, ledger, budgets, evaluator, nominations, state, metrics, this::nowMs);
  }

  public Bind bind(Asked asked, Loop loop) {
    return new Bind(readiness, ledger, evaluator, state, explanations, asked, this, loop, metrics);
  }

  Explain explain() {
    return new Explain(ledger, evaluator, explanations);
  }

  Inspection inspection() {
    return Inspection.of(ledger, loads, evaluations, waiting.size(), nowMs());
  }

  /** A GPU of ten replicas and 10 GiB. */
  record Gpu(String uuid, double sm, long usedBytes, Map<String, Long> usedBytesByPod) {
    Gpu(String uuid, double sm, long usedBytes) {
      this(uuid, sm, usedBytes, Map.of());
    }
  }

  void report(String node, Gpu... gpus) {
    var readings = new HashMap<String, LoadReading>();
    for (Gpu gpu : gpus) {
      readings.put(
          gpu.uuid(), new LoadReading(gpu.usedBytes(), gpu.sm(), 0, nowMs, gpu.usedBytesByPod()));
    }
    report(node, readings, gpus);
  }

  /**
   * @param readings by uuid, instead of what the GPUs say
   */
  void report(String node, Map<String, LoadReading> readings, Gpu... gpus) {
    var facts = new ArrayList<GpuFacts>();
    for (int i = 0; i < gpus.length; i++) {
      String uuid = gpus[i].uuid();
      facts.add(
          new GpuFacts(uuid, i, "Tesla T4", Names.RESOURCE, 10, 10 * GIB, true, "", 0, "", 0));
    }
    var state = new NodeState(true, facts, holdings, true, Map.of(), List.of());
    this.state.reported(new Event.Reported(node, state, OptionalLong.of(0)), readings);
  }

  static PodFacts pod(String name, int replicas, String... annotations) {
    var all = new HashMap<String, String>();
    all.put(Names.GPU_FRACTION, "0." + replicas);
    all.put(Names.REPLICAS_PER_GPU, "10");
    Arrays.stream(annotations).map(a -> a.split("=", 2)).forEach(pair -> all.put(pair[0], pair[1]));
    var request = new Demand.Request("main", Demand.Kind.APP, replicas);
    return new PodFacts(
        name, "ns", name, null, false, false, Names.RESOURCE, List.of(request), all);
  }

  @Override
  public Future<Void> assign(String node, Assignment assignment) {
    if (unassignable != null) {
      throw unassignable;
    }
    assigned.add(assignment);
    return acknowledged;
  }

  @Override
  public void configure(String node, String config) {}

  @Override
  public void forget(String node) {}

  @Override
  public void retract(String node, String uid) {
    retracted.add(uid);
  }

  @Override
  public Future<BindOutcome> bind(
      PodFacts pod, String node, String gpuAnnotation, Supplier<Optional<String>> expiry) {
    expiries.add(expiry);
    return failure == null ? Future.succeededFuture(outcome) : Future.failedFuture(failure);
  }

  @Override
  public Future<Optional<PodFacts>> pod(String key) {
    return Future.succeededFuture(Optional.ofNullable(onServer.get(key)));
  }

  @Override
  public Future<?> wake(String node) {
    woken.add(node);
    return patched;
  }

  @Override
  public void explainRejection(PodFacts pod, String message) {
    told.put(pod.key(), message);
  }
}
