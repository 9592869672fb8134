package dev.tranche.extender.state;

import dev.tranche.extender.client.NodeRate;
import dev.tranche.extender.ledger.Decision;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.vertx.core.Future;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * Reads pods from the API server whose bindings no watch has shown. A request that fails, or that
 * is one too many, gets no answer: the Ledger keeps the hold and asks again. Confined to the loop.
 */
public final class PodChecks {
  /** A node can make the Ledger ask by what it says of assignments. */
  static final NodeRate.Limits RATE = new NodeRate.Limits(128, 200, 2_048, 100);

  private final NodeRate rate;
  private final Function<String, Future<Optional<PodFacts>>> pods;

  /** The uids of the pods that are being read. */
  private final Set<String> underWay = new HashSet<>();

  /**
   * @param pods by {@code namespace/name}; completes on the loop
   */
  PodChecks(
      Function<String, Future<Optional<PodFacts>>> pods,
      LongSupplier clockMs,
      ExtenderMetrics metrics) {
    this.rate = new NodeRate("pod-checks", RATE, clockMs, metrics);
    this.pods = pods;
  }

  void check(Decision.CheckPod check, long nowMs, Consumer<Event> answer) {
    if (underWay.contains(check.uid()) || !rate.tryAcquire(check.node())) {
      return;
    }
    Future<Optional<PodFacts>> read = pods.apply(check.key());
    underWay.add(check.uid());
    read.onComplete(done -> underWay.remove(check.uid()))
        .onSuccess(
            found -> {
              // Another pod may have the name now.
              PodFacts pod = found.filter(p -> p.uid().equals(check.uid())).orElse(null);
              answer.accept(new Event.PodChecked(check.uid(), check.key(), pod, nowMs));
            });
  }
}
