package dev.tranche.webhook;

import io.vertx.core.http.HttpConnection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The open connections: so many in all, so many from one address, and none that is silent or that
 * takes for ever over the head of a request. Of one event loop.
 */
final class Connections {
  private static final int CLOSE_S_MAX = 1;

  private final Limits limits;
  private final WebhookMetrics metrics;
  private final Map<HttpConnection, Use> uses = new HashMap<>();
  private final Map<String, Integer> byAddress = new HashMap<>();

  /**
   * @param firstMsMax from the handshake to the head of the first request
   * @param betweenMsMax from one request's head to the next one's
   */
  record Limits(int connectionsMax, int perAddressMax, long firstMsMax, long betweenMsMax) {}

  /** When a connection last brought a request; at first, when it was opened. */
  private static final class Use {
    private long lastMs;
    private boolean used;
  }

  Connections(Limits limits, WebhookMetrics metrics) {
    this.limits = limits;
    this.metrics = metrics;
    metrics.connections(uses, Map::size);
  }

  void opened(HttpConnection connection, long nowMs) {
    String address = String.valueOf(connection.remoteAddress().hostAddress());
    int ofAddress = byAddress.getOrDefault(address, 0);
    if (uses.size() >= limits.connectionsMax() || ofAddress >= limits.perAddressMax()) {
      metrics.connectionRefused();
      var _ = connection.close();
      return;
    }
    var use = new Use();
    use.lastMs = nowMs;
    uses.put(connection, use);
    byAddress.put(address, ofAddress + 1);
    connection.closeHandler(closed -> closed(connection, address));
  }

  private void closed(HttpConnection connection, String address) {
    if (uses.remove(connection) != null) {
      byAddress.computeIfPresent(address, (a, count) -> count == 1 ? null : count - 1);
    }
  }

  void used(HttpConnection connection, long nowMs) {
    Use use = uses.get(connection);
    if (use != null) {
      use.lastMs = nowMs;
      use.used = true;
    }
  }

  void sweep(long nowMs) {
    for (var entry : List.copyOf(uses.entrySet())) {
      Use use = entry.getValue();
      if (nowMs - use.lastMs > (use.used ? limits.betweenMsMax() : limits.firstMsMax())) {
        var _ = entry.getKey().shutdown(CLOSE_S_MAX, TimeUnit.SECONDS);
      }
    }
  }
}
