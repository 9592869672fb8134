package dev.tranche.api.listen;

import io.vertx.core.net.SocketAddress;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Limits the open connections of one port, counted from the moment they are accepted. Thread-safe.
 * Time is a parameter.
 */
public final class ConnectionLimiter {
  private static final Comparator<Entry> LEAST_USED =
      Comparator.<Entry, Boolean>comparing(entry -> entry.requested)
          .thenComparingLong(entry -> entry.lastMs);

  private final ConnectionLimits limits;
  private final Map<Peer, Entry> open = new HashMap<>();

  /** Open connections of each address that is limited. */
  private final Map<String, Integer> byAddress = new HashMap<>();

  private long refused;

  /** Closes a connection. Thread-safe. */
  interface Connection {
    /** Closes as the protocol defines, which notifies the peer. */
    void close();

    /** Closes at once, even if the peer leaves data unread. */
    void abort();
  }

  private record Peer(String address, int port) {}

  private static final class Entry {
    private final Peer peer;
    private final Connection connection;
    private long lastMs;
    private boolean requested;

    Entry(Peer peer, Connection connection, long acceptedMs) {
      this.peer = peer;
      this.connection = connection;
      lastMs = acceptedMs;
    }

    void close() {
      if (requested) {
        connection.close();
      } else {
        connection.abort();
      }
    }
  }

  public ConnectionLimiter(ConnectionLimits limits) {
    this.limits = limits;
  }

  /**
   * Counts a connection, and closes another for it if too many are open.
   *
   * @return what to run once it is closed; null if it may not be opened
   */
  synchronized @Nullable Runnable accept(
      InetSocketAddress remote, Connection connection, long nowMs) {
    var peer = new Peer(remote.getAddress().getHostAddress(), remote.getPort());
    if (byAddress.getOrDefault(peer.address(), 0) >= limits.perAddressMax()) {
      refused++;
      return null;
    }
    if (open.size() >= limits.connectionsMax()) {
      makeRoom();
    }
    var entry = new Entry(peer, connection, nowMs);
    Entry before = open.put(peer, entry);
    if (before != null) {
      // Its port is used again, so that its peer is gone.
      releaseAddress(before);
    }
    if (limits.limited(peer.address())) {
      byAddress.merge(peer.address(), 1, Integer::sum);
    }
    return () -> remove(entry);
  }

  /**
   * Closes a connection of the address that has the most, so that a few cannot shut others out.
   * Chooses one without a request if there is any, then the one that was idle longest.
   */
  private void makeRoom() {
    int most = byAddress.values().stream().mapToInt(count -> count).max().orElse(0);
    open.values().stream()
        .filter(entry -> byAddress.getOrDefault(entry.peer.address(), 0) == most)
        .min(LEAST_USED)
        .ifPresent(
            entry -> {
              refused++;
              remove(entry);
              entry.close();
            });
  }

  private synchronized void remove(Entry entry) {
    if (open.remove(entry.peer, entry)) {
      releaseAddress(entry);
    }
  }

  private void releaseAddress(Entry entry) {
    byAddress.computeIfPresent(
        entry.peer.address(), (address, count) -> count == 1 ? null : count - 1);
  }

  /** Records that a request's head has arrived, or any other sign that the peer is active. */
  public void recordActivity(SocketAddress remote) {
    recordActivity(String.valueOf(remote.hostAddress()), remote.port(), nowMs());
  }

  synchronized void recordActivity(String address, int port, long nowMs) {
    Entry entry = open.get(new Peer(address, port));
    if (entry != null) {
      entry.lastMs = nowMs;
      entry.requested = true;
    }
  }

  /** Closes connections that have been idle for too long. */
  synchronized void sweep(long nowMs) {
    for (Entry entry : List.copyOf(open.values())) {
      if (nowMs - entry.lastMs > (entry.requested ? limits.idleMs() : limits.firstRequestMs())) {
        if (!entry.requested) {
          refused++;
        }
        remove(entry);
        entry.close();
      }
    }
  }

  public synchronized int open() {
    return open.size();
  }

  /**
   * Returns how many connections were refused, or closed for others or for lack of a first request.
   */
  public synchronized long refused() {
    return refused;
  }

  static long nowMs() {
    return System.nanoTime() / 1_000_000;
  }
}
