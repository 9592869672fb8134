package dev.tranche.webhook;

import dev.tranche.webhook.Asks.Ask;
import java.math.BigDecimal;
import java.util.List;

/**
 * What one container gets for its fraction.
 *
 * @param replicasPerGpu R
 * @param shareReplicas ⌈f·R⌉, on each of its GPUs
 * @param replicas in all
 */
record Grant(Ask ask, int replicasPerGpu, int shareReplicas, int replicas) {
  static List<Grant> of(Asks asks, int replicasPerGpu) {
    return asks.asks().stream()
        .map(
            ask -> {
              int share = ask.fraction().replicas(replicasPerGpu);
              return new Grant(ask, replicasPerGpu, share, Math.multiplyExact(share, asks.count()));
            })
        .toList();
  }

  boolean roundedUp() {
    return !ask.fraction().exactIn(replicasPerGpu);
  }

  /** The share that is granted on each GPU: a decimal, or a ratio where that has no end. */
  String fraction() {
    try {
      return BigDecimal.valueOf(shareReplicas)
          .divide(BigDecimal.valueOf(replicasPerGpu))
          .stripTrailingZeros()
          .toPlainString();
    } catch (ArithmeticException endless) {
      return shareReplicas + "/" + replicasPerGpu;
    }
  }

  String warning() {
    return "container %s asks for %s of a GPU and is granted %s: GPUs are cut into %d replicas, and it is rounded up"
        .formatted(ask.container().name(), ask.text(), fraction(), replicasPerGpu);
  }
}
