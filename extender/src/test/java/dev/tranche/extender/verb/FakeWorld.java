package dev.tranche.extender.verb;

import dev.tranche.api.Names;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.FitErrorText;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.gang.Gangs;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.load.Readings;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFitCache;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.state.ApiServer;
import dev.tranche.extender.state.NodePlugins;
import dev.tranche.extender.state.NominatedPods;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.extender.state.UnschedulablePods;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.meters.Failures;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Nodes and an API server that only remember what they were told, and a clock that stands unless it
 * is told to step.
 */
public final class FakeWorld implements NodePlugins, ApiServer {
  public static final long GIB = 1L << 30;
  private static final long SOON_MS = 50;
  public final List<String> woken = new ArrayList<>();
  public final Map<String, PodFacts> onServer = new HashMap<>();
  public final List<Assignment> assigned = new ArrayList<>();
  public final MeterRegistry registry;
  public long nowMs = 100_000;

  /** What happens before something is looked at again a little later. */
  public Runnable meanwhile = () -> {};

  /** So much passes whenever somebody looks at the clock. */
  public long stepMs;

  /** What kubelets list, of whatever node. */
  public Map<String, Map<String, Map<String, Integer>>> holdings = Map.of();

  public Future<?> patched = Future.succeededFuture();

  /** Of the last Binding. */
  public Map<String, String> bindAnnotations = Map.of();

  public BindOutcome outcome = new BindOutcome.Bound();

  /** What becomes of an assignment that is sent. */
  public Future<Void> acknowledged = Future.succeededFuture();

  /** The nodes that acknowledge nothing. */
  public final Set<String> deaf = new HashSet<>();

  /** What the API server's call ends with instead of its outcome. */
  @Nullable Throwable failure;

  /** The node for which a retraction is a bug. */
  String unretractable = "";

  /** What is thrown instead of sending an assignment. */
  @Nullable Error unassignable;

  /** Where calls of nodes and of the API server complete. */
  public Loop loop = new Loop((Consumer<Runnable>) Runnable::run);

  public final List<Supplier<Optional<String>>> expiries = new ArrayList<>();
  public final List<String> retracted = new ArrayList<>();

  public final ExtenderMetrics metrics;
  public final Failures failures;
  public final Ledger ledger;
  public final LoadCache loads;
  public final NodeFitCache evaluations;
  public final NodeEvaluator evaluator;
  public final PackedPolicy packing;
  public final UnschedulablePods waiting;
  public final NominatedPods nominees;
  public final BudgetStore budgets;
  public final Explanations explanations;
  public final Gangs gangs;
  public final ReadinessGate readiness;
  public final SchedulingCore core;
  public final SchedulingState state;

  public FakeWorld(Policy policy) {
    this(policy, MemoryGuard.ENFORCE);
  }

  public FakeWorld(Policy policy, MemoryGuard guard) {
    this(policy, guard, new SimpleMeterRegistry());
    synced();
  }

  private FakeWorld(Policy policy, MemoryGuard guard, MeterRegistry registry) {
    this.registry = registry;
    this.metrics = new ExtenderMetrics(registry);
    this.failures = metrics.failures;
    var timing = Timing.DEFAULT;
    var settings = new SchedulingCore.Settings(timing, policy, guard, 15_000);
    // Its clock counts from 1970.
    this.core =
        new SchedulingCore(
            settings, this::nowMs, LongUnaryOperator.identity(), failures::nodeFailed);
    this.ledger = core.ledger;
    this.loads = core.loads;
    this.evaluations = core.fits;
    this.evaluator = core.evaluator;
    this.packing = core.packing;
    this.budgets = core.budgets;
    this.explanations = core.explanations;
    this.gangs = core.gangs;
    this.state = new SchedulingState(core, this, this, metrics);
    this.readiness = state.readiness;
    this.waiting = state.waiting;
    this.nominees = state.nominees;
  }

  /** One that has read neither pods nor nodes. */
  public static FakeWorld unsynced(MeterRegistry registry) {
    return new FakeWorld(Policy.LOAD, MemoryGuard.ENFORCE, registry);
  }

  public void synced() {
    readiness.synced();
    state.apply(new Event.Synced());
  }

  public void see(PodFacts pod) {
    state.apply(new Event.PodSeen(pod));
  }

  public long nowMs() {
    return nowMs += stepMs;
  }

  public void tick() {
    state.tick();
    state.waker.tick();
  }

  /** So much time passes, and then comes a tick. */
  public void pass(long ms) {
    nowMs += ms;
    tick();
  }

  /** Filter, as it decides while nothing else is done. */
  public record FilterNow(Filter filter) {
    public Filter.Answer filter(PodFacts pod, List<String> names, boolean hasNodePreferences) {
      return filter(pod, names, hasNodePreferences, "");
    }

    Filter.Answer filter(
        PodFacts pod, List<String> names, boolean hasNodePreferences, String group) {
      return filter.inTurns(pod, names, hasNodePreferences, group).await();
    }
  }

  public FilterNow filter() {
    return filter(0);
  }

  public FilterNow filter(int offeredMax) {
    return new FilterNow(filter(offeredMax, Runnable::run));
  }

  /**
   * @param loop runs what is left in a later turn
   */
  public Filter filter(int offeredMax, Consumer<Runnable> loop) {
    return new Filter(core, state, metrics, offeredMax, loop);
  }

  public Prioritize prioritize() {
    return new Prioritize(core, state);
  }

  public Preempt preempt() {
    return preempt(Runnable::run);
  }

  /**
   * @param loop runs what is left in a later turn
   */
  public Preempt preempt(Consumer<Runnable> loop) {
    return new Preempt(core, state, metrics, loop, this::soon);
  }

  private void soon(Runnable task) {
    nowMs += SOON_MS;
    meanwhile.run();
    task.run();
  }

  public Bind bind(Loop completesOn) {
    loop = completesOn;
    return new Bind(core, state, this, metrics);
  }

  /** Returns an explanation of a pod, with all nodes as they are now. */
  public PodDetail explained(String key, Optional<NodeFilter> filter) {
    return explained(key, filter, Optional.empty(), View.ALL);
  }

  public PodDetail explained(
      String key, Optional<NodeFilter> filter, Optional<String> message, View view) {
    Explain.Plan plan = explain().of(key).orElseThrow();
    var nodes = plan.evaluated() ? snapshots(plan.pod()) : List.<NodeSnapshot>of();
    var known = new Explain.Known(filter, nodes, message);
    return explain().answer(plan, known, Snapshot.of(inspection()), view);
  }

  /** All nodes, as they are for a pod. */
  public List<NodeSnapshot> snapshots(PodFacts pod) {
    var found = new ArrayList<NodeSnapshot>();
    List<String> names = List.copyOf(ledger.nodes());
    for (int next = 0; next < names.size(); ) {
      next = evaluator.addSnapshots(pod, names, next, found);
    }
    return found;
  }

  public WhatIf whatIf() {
    return new WhatIf(ledger, evaluator, packing, 0, this::nowMs);
  }

  /** What what-if says of a pod, or of several. */
  public WhatIf.Answer foretold(PodFacts pod, NodeFilter filter, int count) {
    return whatIf()
        .answer(
            new WhatIf.Question(pod, HostRequest.NONE, filter, snapshots(pod), count),
            new WhatIf.OnLoop() {
              @Override
              public <T> T call(Supplier<T> work) {
                return work.get();
              }
            });
  }

  public Explain explain() {
    return new Explain(ledger, evaluator, explanations);
  }

  public Inspection inspection() {
    long now = nowMs();
    while (core.inspector.readAhead(now, Instant.ofEpochMilli(now))) {
      // As the extender does.
    }
    return core.inspector.inspect(now, Instant.ofEpochMilli(now));
  }

  /** A GPU of ten replicas and 10 GiB. */
  public record Gpu(String uuid, double sm, long usedBytes, Map<String, Long> usedBytesByPod) {
    public Gpu(String uuid, double sm, long usedBytes) {
      this(uuid, sm, usedBytes, Map.of());
    }
  }

  public void report(String node, Gpu... gpus) {
    var readings = new HashMap<String, LoadReading>();
    for (Gpu gpu : gpus) {
      readings.put(
          gpu.uuid(),
          Readings.of(gpu.usedBytes(), gpu.sm(), 0, nowMs, gpu.usedBytesByPod(), Map.of()));
    }
    report(node, readings, gpus);
  }

  /**
   * @param readings by uuid, instead of what the GPUs say
   */
  public void report(String node, Map<String, LoadReading> readings, Gpu... gpus) {
    var facts = new ArrayList<GpuFacts>();
    for (int i = 0; i < gpus.length; i++) {
      facts.add(TestFacts.gpu(gpus[i].uuid(), i, 10, 10 * GIB));
    }
    var state = new NodeState(true, facts, holdings, true, Map.of(), List.of());
    this.state.reported(new Event.Reported(node, state, OptionalLong.of(0)), readings);
  }

  public static PodFacts pod(String name, int replicas, String... annotations) {
    var all = new HashMap<String, String>();
    all.put(Names.GPU_FRACTION, "0." + replicas);
    all.put(Names.REPLICAS_PER_GPU, "10");
    Arrays.stream(annotations).map(a -> a.split("=", 2)).forEach(pair -> all.put(pair[0], pair[1]));
    return TestFacts.pod(name, null, all, TestFacts.main(replicas));
  }

  @Override
  public Future<Void> assign(String node, Assignment assignment) {
    if (unassignable != null) {
      throw unassignable;
    }
    assigned.add(assignment);
    return loop.completeOnLoop(
        deaf.contains(node) ? Future.failedFuture("no answer within 2000 ms") : acknowledged);
  }

  @Override
  public void configure(String node, String config) {}

  @Override
  public void forget(String node) {}

  @Override
  public void retract(String node, String uid) {
    if (node.equals(unretractable)) {
      throw new IllegalStateException("of node " + node);
    }
    retracted.add(uid);
  }

  @Override
  public Future<BindOutcome> bind(
      PodFacts pod,
      String node,
      Map<String, String> annotations,
      Supplier<Optional<String>> expiry) {
    expiries.add(expiry);
    bindAnnotations = annotations;
    return loop.completeOnLoop(
        failure == null ? Future.succeededFuture(outcome) : Future.failedFuture(failure));
  }

  @Override
  public Future<Optional<PodFacts>> pod(String key) {
    return Future.succeededFuture(Optional.ofNullable(onServer.get(key)));
  }

  @Override
  public Future<Optional<PodFacts>> checkedPod(String key) {
    return pod(key);
  }

  @Override
  public Future<?> wake(String node) {
    woken.add(node);
    return patched;
  }

  /** What the owner of a pod is told that filter has refused. */
  public String rejection(String name) {
    var refused = explanations.get("ns/" + name).orElseThrow().refused();
    return explanations.cause(name).orElseThrow().line() + ". " + FitErrorText.figures(refused);
  }
}
