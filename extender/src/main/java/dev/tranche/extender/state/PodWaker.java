package dev.tranche.extender.state;

import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.snapshot.NodeEvaluator;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** Wakes rejected pods at each tick: all of them once, then those that have room now. */
public final class PodWaker {
  private final ReadinessGate readiness;
  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final UnschedulablePods waiting;
  private final Function<String, Future<?>> patch;
  private final ExtenderMetrics metrics;
  private final LongSupplier clockMs;
  private final FirstWake firstWake = new FirstWake();

  /**
   * @param patch changes a node of that name, so that kube-scheduler tries rejected pods again
   */
  public PodWaker(
      ReadinessGate readiness,
      Ledger ledger,
      NodeEvaluator evaluator,
      UnschedulablePods waiting,
      Function<String, Future<?>> patch,
      ExtenderMetrics metrics,
      LongSupplier clockMs) {
    this.readiness = readiness;
    this.ledger = ledger;
    this.evaluator = evaluator;
    this.waiting = waiting;
    this.patch = patch;
    this.metrics = metrics;
    this.clockMs = clockMs;
  }

  /** After what is due has been applied. */
  public void tick() {
    boolean decides = readiness.notDeciding().or(readiness::awaitingFirstReports).isEmpty();
    firstWake.tick(decides, clockMs.getAsLong(), this::anyNode, this::wake);
    waiting.wake(evaluator::policyOf, clockMs, this::wake);
  }

  private Optional<String> anyNode() {
    return ledger.nodes().stream()
        .filter(node -> ledger.node(node).filter(NodeFacts::advertises).isPresent())
        .findFirst();
  }

  private Future<?> wake(String node) {
    metrics.wakeUps.increment();
    return patch.apply(node);
  }
}
