package dev.tranche.webhook;

import io.vertx.core.http.HttpConnection;
import java.util.Comparator;
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
    private final String address;
    private long lastMs;
    private boolean used;

    Use(String address, long openedMs) {
      this.address = address;
      lastMs = openedMs;
    }
  }

  Connections(Limits limits, WebhookMetrics metrics) {
    this.limits = limits;
    this.metrics = metrics;
    metrics.connections(uses, Map::size);
  }

  void opened(HttpConnection connection, long nowMs) {
    String address = String.valueOf(connection.remoteAddress().hostAddress());
    int ofAddress = byAddress.getOrDefault(address, 0);
    if (ofAddress >= limits.perAddressMax()) {
      metrics.connectionRefused();
      var _ = connection.close();
      return;
    }
    if (uses.size() >= limits.connectionsMax()) {
      makeRoom();
      ofAddress = byAddress.getOrDefault(address, 0);
    }
    var use = new Use(address, nowMs);
    uses.put(connection, use);
    byAddress.put(address, ofAddress + 1);
    connection.closeHandler(closed -> closed(connection, address));
  }

  /**
   * From the address that has most goes the one that was silent longest, so a few cannot shut
   * others out.
   */
  private void makeRoom() {
    int most = byAddress.values().stream().mapToInt(count -> count).max().orElse(0);
    uses.entrySet().stream()
        .filter(e -> byAddress.getOrDefault(e.getValue().address, 0) == most)
        .min(Comparator.comparingLong(e -> e.getValue().lastMs))
        .ifPresent(
            e -> {
              metrics.connectionRefused();
              HttpConnection silent = e.getKey();
              closed(silent, e.getValue().address);
              var _ = silent.shutdown(CLOSE_S_MAX, TimeUnit.SECONDS);
            });
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
