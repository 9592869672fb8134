package dev.tranche.extender.state;

import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Wakes all rejected pods once, whenever we begin to decide. Which pods wait for what was known to
 * the replica that rejected them, and to that process only. Confined to the loop.
 */
final class FirstWake {
  private boolean due = true;
  private long lastMs = Long.MIN_VALUE / 2;
  private @Nullable Future<?> underWay;

  /**
   * @param decides we lead, have read the cluster, and have heard its nodes
   * @param node any that the API server has
   * @param patch wakes all rejected pods; tried again a second later if it fails
   */
  void tick(
      boolean decides,
      long nowMs,
      Supplier<Optional<String>> node,
      Function<String, Future<?>> patch) {
    if (!decides) {
      due = true;
      underWay = null;
      return;
    }
    Future<?> sent = underWay;
    if (sent != null && sent.isComplete()) {
      due = sent.failed();
      underWay = null;
    }
    if (due && underWay == null && nowMs - lastMs >= UnschedulablePods.BETWEEN_MS) {
      lastMs = nowMs;
      Optional<String> any = node.get();
      underWay = any.isPresent() ? patch.apply(any.get()) : null;
    }
  }
}
