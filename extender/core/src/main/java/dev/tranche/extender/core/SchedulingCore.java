package dev.tranche.extender.core;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Inspector;
import dev.tranche.extender.gang.Gangs;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.NodeTraits;
import dev.tranche.extender.snapshot.ClusterView;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFailures;
import dev.tranche.extender.snapshot.NodeFitCache;
import dev.tranche.extender.snapshot.PackedPolicy;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;

/**
 * The parts that decide, connected: what is known of the cluster, how each node fits a pod, and
 * why. The extender, its tests and the simulator all decide with these parts. Confined to the loop,
 * except where a part says otherwise.
 */
public final class SchedulingCore {
  public final LongSupplier clockMs;

  /** Converts the API server's times, in milliseconds since 1970, to those of the clock. */
  public final LongUnaryOperator toClock;

  public final Ledger ledger;
  public final LoadCache loads;
  public final ClusterView cluster;
  public final NodeFitCache fits;
  public final NodeEvaluator evaluator;
  public final PackedPolicy packing;
  public final BudgetStore budgets = new BudgetStore();
  public final Gangs gangs = new Gangs();
  public final Explanations explanations;
  public final Inspector inspector;

  /** Of the nodes with GPUs; safe on any thread. */
  public final NodeTraits.Table traits = new NodeTraits.Table();

  /**
   * What a user can set, and what simulations vary.
   *
   * @param policy of pods that name none
   * @param loadStaleAfterMs how old a measurement may be to count
   */
  public record Settings(
      Timing timing, Policy policy, MemoryGuard memoryGuard, long loadStaleAfterMs) {}

  public SchedulingCore(
      Settings settings, LongSupplier clockMs, LongUnaryOperator toClock, NodeFailures failures) {
    Timing timing = settings.timing();
    this.clockMs = clockMs;
    this.toClock = toClock;
    this.ledger = new Ledger(timing, toClock);
    this.loads =
        new LoadCache(settings.loadStaleAfterMs(), timing.halfLifeMs(), timing.newcomerMs());
    this.cluster = new ClusterView(ledger, loads, timing, settings.memoryGuard(), failures);
    this.fits = new NodeFitCache(ledger, loads, cluster);
    this.evaluator = new NodeEvaluator(ledger, cluster, fits, settings.policy(), clockMs);
    this.packing = new PackedPolicy(failures);
    this.explanations = new Explanations(ledger::gone);
    this.inspector = new Inspector(ledger, loads, fits);
  }

  public long nowMs() {
    return clockMs.getAsLong();
  }
}
