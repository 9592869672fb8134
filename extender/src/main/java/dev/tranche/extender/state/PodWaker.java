package dev.tranche.extender.state;

import dev.tranche.extender.client.NodeRate;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.vertx.core.Future;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Wakes rejected pods at each tick: all of them once whenever this extender begins to decide, then
 * those that fit now. Only the process that rejected a pod knows what it waits for. Confined to the
 * loop.
 */
public final class PodWaker {
  /**
   * A node whose memory comes and goes would otherwise have all pending pods retried each second.
   */
  static final NodeRate.Limits RATE = new NodeRate.Limits(10, 10_000, 10, 1);

  private final SchedulingCore core;
  private final ReadinessGate readiness;
  private final UnschedulablePods waiting;
  private final ApiServer api;
  private final NodeRate rate;
  private final ExtenderMetrics metrics;
  private boolean firstWakeDue = true;
  private long firstWakeAtMs = Long.MIN_VALUE / 2;
  private @Nullable Future<?> firstWake;

  PodWaker(
      SchedulingCore core,
      ReadinessGate readiness,
      UnschedulablePods waiting,
      ApiServer api,
      ExtenderMetrics metrics) {
    this.core = core;
    this.readiness = readiness;
    this.waiting = waiting;
    this.api = api;
    this.rate = new NodeRate("wake-ups", RATE, core.clockMs, metrics);
    this.metrics = metrics;
  }

  /** Runs one turn; must be called after the Ledger has applied what is due. */
  public void tick() {
    if (readiness.notDeciding().or(readiness::awaitingFirstReports).isEmpty()) {
      wakeAllOnce(core.nowMs());
    } else {
      firstWakeDue = true;
      firstWake = null;
    }
    waiting.wake(core.evaluator::policyOf, rate::available, this::wakeFitting);
  }

  /** Wakes all rejected pods; tried again a second later if it fails. */
  private void wakeAllOnce(long nowMs) {
    if (firstWake != null && firstWake.isComplete()) {
      firstWakeDue = firstWake.failed();
      firstWake = null;
    }
    if (firstWakeDue
        && firstWake == null
        && nowMs - firstWakeAtMs >= UnschedulablePods.BETWEEN_MS) {
      firstWakeAtMs = nowMs;
      firstWake = anyNode().<Future<?>>map(this::wake).orElse(null);
    }
  }

  private Optional<String> anyNode() {
    return core.ledger.nodes().stream()
        .filter(node -> core.ledger.node(node).filter(NodeFacts::advertises).isPresent())
        .findFirst();
  }

  private Future<?> wakeFitting(String node) {
    rate.tryAcquire(node);
    return wake(node);
  }

  private Future<?> wake(String node) {
    metrics.wakeUps.increment();
    return api.wake(node);
  }
}
