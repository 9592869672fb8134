package dev.tranche.api.listen;

import io.vertx.core.net.SocketAddress;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The open connections of one port, counted from the moment they are accepted. From any thread;
 * time is a parameter.
 */
public final class ConnectionLimiter {
  private static final Comparator<Entry> LEAST_USED =
      Comparator.<Entry, Boolean>comparing(entry -> entry.requested)
          .thenComparingLong(entry -> entry.lastMs);

  private final ConnectionLimits limits;
  private final Map<Peer, Entry> open = new HashMap<>();

  /** Of those that are limited. */
  private final Map<String, Integer> byAddress = new HashMap<>();

  private long refused;

  /** How a connection is closed. From any thread. */
  interface Connection {
    /** Tells the peer, as its protocol has it. */
    void close();

    /** At once: nothing that the peer leaves unread holds it open. */
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

    void end() {
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
   * Counts a connection, and closes another for it where too many are open.
   *
   * @return what to run once it is closed; null if it may not be opened
   */
  synchronized @Nullable Runnable accepted(
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
      forgotten(before);
    }
    if (limits.limited(peer.address())) {
      byAddress.merge(peer.address(), 1, Integer::sum);
    }
    return () -> closed(entry);
  }

  /**
   * Of the address that has most goes the one that was silent longest, so a few cannot shut others
   * out.
   */
  private void makeRoom() {
    int most = byAddress.values().stream().mapToInt(count -> count).max().orElse(0);
    open.values().stream()
        .filter(entry -> byAddress.getOrDefault(entry.peer.address(), 0) == most)
        .min(LEAST_USED)
        .ifPresent(
            entry -> {
              refused++;
              closed(entry);
              entry.end();
            });
  }

  private synchronized void closed(Entry entry) {
    if (open.remove(entry.peer, entry)) {
      forgotten(entry);
    }
  }

  private void forgotten(Entry entry) {
    byAddress.computeIfPresent(
        entry.peer.address(), (address, count) -> count == 1 ? null : count - 1);
  }

  /** The head of a request has come, or whatever else shows that the peer is at work. */
  public void requested(SocketAddress remote) {
    requested(String.valueOf(remote.hostAddress()), remote.port(), nowMs());
  }

  synchronized void requested(String address, int port, long nowMs) {
    Entry entry = open.get(new Peer(address, port));
    if (entry != null) {
      entry.lastMs = nowMs;
      entry.requested = true;
    }
  }

  /** Closes those that have been silent for too long. */
  synchronized void sweep(long nowMs) {
    for (Entry entry : List.copyOf(open.values())) {
      if (nowMs - entry.lastMs > (entry.requested ? limits.idleMs() : limits.firstRequestMs())) {
        if (!entry.requested) {
          refused++;
        }
        closed(entry);
        entry.end();
      }
    }
  }

  public synchronized int open() {
    return open.size();
  }

  /** Closed for others, or for want of a first request. */
  public synchronized long refused() {
    return refused;
  }

  static long nowMs() {
    return System.nanoTime() / 1_000_000;
  }
}
