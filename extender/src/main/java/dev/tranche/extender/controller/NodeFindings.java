package dev.tranche.extender.controller;

import dev.tranche.extender.limit.NodeRate;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.vertx.core.Future;
import java.net.HttpURLConnection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Findings about nodes that become events: one is written once it was found twice in a row, and
 * again when it changes. Confined to the event loop.
 *
 * @param <T> what is found, compared by equals
 */
final class NodeFindings<T> {
  /** The most events per check. */
  static final int EVENTS_PER_CHECK_MAX = 10;

  /** Somebody else may change what is found all the time. */
  static final NodeRate.Limits RATE = new NodeRate.Limits(5, 600_000, EVENTS_PER_CHECK_MAX, 1);

  private static final Logger LOG = LoggerFactory.getLogger(NodeFindings.class);

  private final BooleanSupplier deciding;
  private final NodeRate rate;
  private final BiFunction<String, T, Future<?>> writer;

  /** By node, as of the last check. */
  private Map<String, LastCheck<T>> lastChecks = new HashMap<>();

  private record LastCheck<T>(T found, boolean reported) {}

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   * @param rate of events by node
   * @param writer writes the event for a node; completed on the event loop
   */
  NodeFindings(BooleanSupplier deciding, NodeRate rate, BiFunction<String, T, Future<?>> writer) {
    this.deciding = deciding;
    this.rate = rate;
    this.writer = writer;
  }

  /**
   * Takes what is found now.
   *
   * @param found by node; nothing about other nodes
   */
  void check(Map<String, T> found) {
    if (!deciding.getAsBoolean()) {
      lastChecks = new HashMap<>();
      return;
    }
    var now = new HashMap<String, LastCheck<T>>();
    Map<String, T> due = new LinkedHashMap<>();
    found.forEach(
        (node, finding) -> {
          Optional<LastCheck<T>> same =
              Optional.ofNullable(lastChecks.get(node)).filter(l -> l.found().equals(finding));
          boolean reported = same.map(LastCheck::reported).orElse(false);
          if (same.isPresent()
              && !reported
              && due.size() < EVENTS_PER_CHECK_MAX
              && rate.tryAcquire(node)) {
            due.put(node, finding);
            reported = true;
          }
          now.put(node, new LastCheck<>(finding, reported));
        });
    lastChecks = now;
    due.forEach(
        (node, finding) -> writer.apply(node, finding).onFailure(e -> unwritten(node, finding, e)));
  }

  /**
   * Retries at the next check, unless the API server refused the event because it exists already.
   */
  private void unwritten(String node, T finding, Throwable failure) {
    if (failure instanceof KubernetesClientException e
        && e.getCode() == HttpURLConnection.HTTP_CONFLICT) {
      return;
    }
    LOG.info("cannot write an event for node {}, will retry: {}", node, failure.toString());
    lastChecks.computeIfPresent(
        node, (same, now) -> now.found().equals(finding) ? new LastCheck<>(finding, false) : now);
  }
}
