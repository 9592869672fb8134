package dev.tranche.simulate;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.gang.Gangs;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.MpsLoad;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.metrics.Failures;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.ClusterView;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFitCache;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.state.NodePlugins;
import dev.tranche.extender.state.NominatedPods;
import dev.tranche.extender.state.NominationPlanner;
import dev.tranche.extender.state.PodChecks;
import dev.tranche.extender.state.PodWaker;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.state.StateWriter;
import dev.tranche.extender.state.UnschedulablePods;
import dev.tranche.extender.verb.ApiServer;
import dev.tranche.extender.verb.Bind;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Prioritize;
import dev.tranche.extender.verb.RecentlyFilteredPods;
import dev.tranche.process.loop.Loop;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;

/** The extender's own parts, connected as in {@code Extender}; what they ask of others is given. */
final class ExtenderCore {
  private static final long LOAD_STALE_AFTER_MS = 15_000;

  /** More than the simulated clusters have: each pod is offered all nodes that fit. */
  private static final int OFFERED_MAX = 64;

  private static final long SOON_MS = 50;

  final Ledger ledger;
  final ReadinessGate readiness;
  final StateWriter state;
  final Filter filter;
  final Prioritize prioritize;
  final Bind bind;
  final Preempt preempt;
  final BudgetStore budgets = new BudgetStore();
  private final PodWaker waker;

  /** What the parts need of the process and of others. */
  record Given(
      Policy policy,
      LongSupplier clockMs,
      LongUnaryOperator toClock,
      Loop loop,
      Later later,
      NodePlugins nodes,
      ApiServer api,
      Function<String, Future<?>> wake,
      Consumer<PodFacts> rejected) {}

  /** Runs a task on the loop later. */
  interface Later {
    void after(long ms, Runnable task);
  }

  ExtenderCore(Given given) {
    LongSupplier clockMs = given.clockMs();
    var metrics = new ExtenderMetrics(new SimpleMeterRegistry());
    var failures = new Failures(metrics);
    var timing = Timing.DEFAULT;
    this.ledger = new Ledger(timing, given.toClock());
    var loads = new LoadCache(LOAD_STALE_AFTER_MS, timing.halfLifeMs(), timing.newcomerMs());
    var cluster =
        new ClusterView(ledger, loads, timing, MemoryGuard.ENFORCE, MpsLoad.UTILIZATION, failures);
    var evaluations = new NodeFitCache(ledger, loads, cluster);
    var evaluator = new NodeEvaluator(ledger, cluster, evaluations, given.policy(), clockMs);
    this.readiness = new ReadinessGate(ledger::allReported, clockMs);
    var waiting = new UnschedulablePods(ledger, evaluations, cluster, metrics);
    var nominees = new NominatedPods(ledger, clockMs);
    var explanations = new Explanations((pod, cause, figures) -> given.rejected().accept(pod));
    var packing = new PackedPolicy(failures);
    var checks =
        new PodChecks(
            key -> given.api().pod(key),
            new NodeRate("pod-checks", PodChecks.RATE, clockMs, metrics),
            metrics);
    this.state =
        new StateWriter(
            ledger,
            loads,
            evaluations,
            packing,
            waiting,
            nominees,
            checks,
            given.nodes(),
            metrics,
            failures,
            clockMs);
    var nominations =
        new NominationPlanner(nominees, ledger, loads, evaluator, budgets, state, clockMs);
    this.waker =
        new PodWaker(
            readiness,
            ledger,
            evaluator,
            waiting,
            given.wake(),
            new NodeRate("wake-ups", PodWaker.RATE, clockMs, metrics),
            metrics,
            clockMs);
    var recentlyFiltered = new RecentlyFilteredPods();
    this.filter =
        new Filter(
            readiness,
            ledger,
            evaluator,
            nominations,
            state,
            packing,
            explanations,
            new Gangs(),
            recentlyFiltered,
            metrics,
            OFFERED_MAX,
            given.loop()::run,
            clockMs);
    this.prioritize =
        new Prioritize(readiness, ledger, evaluator, state, packing, explanations, metrics);
    this.bind = bind(given, evaluator, explanations, recentlyFiltered, metrics);
    this.preempt = preempt(given, evaluator, packing, nominations, metrics);
  }

  private Bind bind(
      Given given,
      NodeEvaluator evaluator,
      Explanations explanations,
      RecentlyFilteredPods recentlyFiltered,
      ExtenderMetrics metrics) {
    return new Bind(
        readiness,
        ledger,
        evaluator,
        state,
        explanations,
        recentlyFiltered,
        given.api(),
        given.loop(),
        metrics);
  }

  private Preempt preempt(
      Given given,
      NodeEvaluator evaluator,
      PackedPolicy packing,
      NominationPlanner nominations,
      ExtenderMetrics metrics) {
    return new Preempt(
        readiness,
        ledger,
        budgets,
        evaluator,
        packing,
        nominations,
        state,
        metrics,
        given.loop()::run,
        task -> given.later().after(SOON_MS, task),
        given.clockMs());
  }

  void tick() {
    state.tick();
    waker.tick();
  }

  /** Returns why this replica does not decide; empty if it does. */
  Optional<String> notDeciding() {
    return readiness.notDeciding();
  }
}
