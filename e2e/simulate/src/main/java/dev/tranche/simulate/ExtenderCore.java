package dev.tranche.simulate;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.state.ApiServer;
import dev.tranche.extender.state.NodePlugins;
import dev.tranche.extender.state.PodWaker;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.extender.verb.Bind;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Prioritize;
import dev.tranche.process.loop.Loop;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
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
  final SchedulingState state;
  final Filter filter;
  final Prioritize prioritize;
  final Bind bind;
  final Preempt preempt;
  final BudgetStore budgets;
  private final PodWaker waker;

  /** What the parts need of the process and of others. */
  record Given(
      Policy policy,
      LongSupplier clockMs,
      LongUnaryOperator toClock,
      Loop loop,
      Later later,
      NodePlugins nodes,
      ApiServer api) {}

  /** Runs a task on the loop later. */
  interface Later {
    void after(long ms, Runnable task);
  }

  ExtenderCore(Given given) {
    var metrics = new ExtenderMetrics(new SimpleMeterRegistry());
    var settings =
        new SchedulingCore.Settings(
            Timing.DEFAULT, given.policy(), MemoryGuard.ENFORCE, LOAD_STALE_AFTER_MS);
    var core =
        new SchedulingCore(
            settings, given.clockMs(), given.toClock(), metrics.failures::nodeFailed);
    this.state = new SchedulingState(core, given.nodes(), given.api(), metrics);
    this.ledger = core.ledger;
    this.budgets = core.budgets;
    this.readiness = state.readiness;
    this.waker = state.waker;
    Loop loop = given.loop();
    this.filter = new Filter(core, state, metrics, OFFERED_MAX, loop::run);
    this.prioritize = new Prioritize(core, state);
    this.bind = new Bind(core, state, given.api(), metrics);
    this.preempt =
        new Preempt(core, state, metrics, loop::run, task -> given.later().after(SOON_MS, task));
  }

  void tick() {
    state.tick();
    waker.tick();
  }
}
