package dev.tranche.process.listen;

import io.vertx.core.net.SocketAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Limits the connections of one port, counted from the moment they are accepted. A connection that
 * finds no place ends the least used one of its address, or waits until one can end. It is never
 * refused before the waiting places are taken. Thread-safe. Time is a parameter.
 */
public final class ConnectionLimiter {
  /**
   * An answered connection is safe from others for this long after its last request, but for those
   * that have waited.
   */
  static final long REUSE_MS = 1_000;

  /** Longer than clients wait for a TLS handshake, so that none is refused that still waits. */
  static final long WAITING_MS = 30_000;

  private static final Comparator<Entry> LEAST_USED =
      Comparator.<Entry, Boolean>comparing(entry -> entry.answering)
          .thenComparing(entry -> entry.answered)
          .thenComparing(entry -> entry.requested)
          .thenComparingLong(entry -> entry.lastMs);

  private final ConnectionLimits limits;

  /** Those that are served, by peer. */
  private final Map<Peer, Entry> open = new HashMap<>();

  /** Oldest first. */
  private final Set<Entry> waiting = new LinkedHashSet<>();

  /** Served connections of each address that is limited, without the admitted ones. */
  private final Map<String, Integer> byAddress = new HashMap<>();

  private final Map<String, Integer> waitingByAddress = new HashMap<>();
  private final KnownAddresses known = new KnownAddresses();
  private int admitted;
  private long refused;

  /** Serves or closes a connection. Thread-safe. */
  interface Connection {
    /**
     * Passes the connection on to the event loop that serves it.
     *
     * @param safeMs how finely {@link #quietMs} is measured follows from it
     * @param onClosed to run once it is closed
     */
    void serve(long safeMs, Runnable onClosed);

    /**
     * Returns for how long the peer has sent nothing although we were ready to read. Unlike the
     * time of day, it does not grow while our own event loop is late.
     */
    long quietMs();

    /** Its first request is answered, or its peer admitted: {@link #quietMs} is not asked again. */
    void used();

    /** Closes as the protocol defines, which notifies the peer. */
    void close();

    /** Closes at once, even if the peer leaves data unread. */
    void abort();
  }

  private record Peer(String address, int port) {}

  private static final class Entry {
    private final Peer peer;
    private final Connection connection;
    private final long acceptedMs;

    /** When it was accepted or served, or its last request began. */
    private long lastMs;

    private boolean requested;

    /** Whether a request has begun that has not arrived as a whole. */
    private boolean receiving;

    /** Whether a request has been answered. */
    private boolean answered;

    /** Whether a request has arrived as a whole and has no answer yet. */
    private boolean answering;

    private boolean admitted;

    Entry(Peer peer, Connection connection, long acceptedMs) {
      this.peer = peer;
      this.connection = connection;
      this.acceptedMs = acceptedMs;
      lastMs = acceptedMs;
    }

    boolean isAt(String address) {
      return peer.address().equals(address);
    }

    boolean unused() {
      return !answered && !answering && !admitted;
    }

    /**
     * @param waitedMs how long the connection that needs a place has waited
     */
    boolean replaceable(long nowMs, long waitedMs, long safeMs) {
      return !answering
          && !admitted
          && (answered
              ? nowMs - lastMs >= REUSE_MS || waitedMs >= safeMs
              : nowMs - lastMs >= safeMs && connection.quietMs() >= safeMs);
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

  /** Serves an accepted connection, now or once there is a place, or closes it. */
  synchronized void accept(InetSocketAddress remote, Connection connection, long nowMs) {
    var peer = new Peer(remote.getAddress().getHostAddress(), remote.getPort());
    var entry = new Entry(peer, connection, nowMs);
    int ofAddress = waitingByAddress.getOrDefault(peer.address(), 0);
    // Those of its address that came first are served first.
    if (ofAddress == 0 && makePlace(entry, nowMs)) {
      serve(entry, nowMs);
    } else if (waiting.size() < limits.waitingMax()
        && ofAddress < limits.waitingPerAddressMax(peer.address())) {
      waiting.add(entry);
      waitingByAddress.merge(peer.address(), 1, Integer::sum);
    } else {
      refused++;
      connection.abort();
    }
  }

  private void serve(Entry entry, long nowMs) {
    entry.lastMs = nowMs;
    Entry before = open.put(entry.peer, entry);
    if (before != null) {
      // Its port is used again, so that its peer is gone.
      release(before);
    }
    if (limits.limited(entry.peer.address())) {
      byAddress.merge(entry.peer.address(), 1, Integer::sum);
    }
    entry.connection.serve(limits.safeMs(), () -> remove(entry, nowMs()));
  }

  private boolean makePlace(Entry newcomer, long nowMs) {
    String address = newcomer.peer.address();
    int own = byAddress.getOrDefault(address, 0);
    if (own >= limits.perAddressMax()) {
      return endLeastUsed(replaceable(newcomer, nowMs).and(entry -> entry.isAt(address)));
    }
    if (open.size() - admitted < limits.connectionsMax()) {
      return true;
    }
    // Somebody with more addresses than there are places cannot shut out whom we have long known.
    Predicate<Entry> junior = junior(newcomer, nowMs);
    if (limits.limited(address) && endLeastUsed(junior)) {
      return true;
    }
    // A few addresses cannot shut others out: one of the address that has most ends. Addresses
    // with about as many end nothing of each other that is in use.
    int most =
        byAddress.entrySet().stream()
            .filter(other -> !known.isAhead(other.getKey(), address, nowMs))
            .mapToInt(Map.Entry::getValue)
            .max()
            .orElse(0);
    boolean fair = limits.limited(address) ? most <= own + 1 : most == 0;
    Predicate<Entry> atMost =
        entry ->
            !entry.admitted
                && byAddress.getOrDefault(entry.peer.address(), 0) == most
                && !known.isAhead(entry.peer.address(), address, nowMs);
    return endLeastUsed(fair ? replaceable(newcomer, nowMs).and(atMost) : atMost);
  }

  /** Returns which connections may end for one of an address that we have known for longer. */
  private Predicate<Entry> junior(Entry newcomer, long nowMs) {
    return entry ->
        !entry.admitted
            && !entry.answering
            && known.isAhead(newcomer.peer.address(), entry.peer.address(), nowMs)
            && (!known.knows(entry.peer.address())
                || (entry.answered && !entry.receiving)
                || nowMs - entry.lastMs >= REUSE_MS);
  }

  /** Returns which connections may end for another one of their address. */
  private Predicate<Entry> replaceable(Entry newcomer, long nowMs) {
    String address = newcomer.peer.address();
    // Fresh connections must not push out those that clients keep, so unused ones end first, even
    // if that has to wait until they are not safe any more.
    boolean onlyUnused =
        open.values().stream().anyMatch(entry -> entry.isAt(address) && entry.unused());
    long waitedMs = nowMs - newcomer.acceptedMs;
    return entry ->
        (entry.unused() || !onlyUnused) && entry.replaceable(nowMs, waitedMs, limits.safeMs());
  }

  private boolean endLeastUsed(Predicate<Entry> candidate) {
    Optional<Entry> least = open.values().stream().filter(candidate).min(LEAST_USED);
    least.ifPresent(
        entry -> {
          refused++;
          forget(entry);
          entry.close();
        });
    return least.isPresent();
  }

  private synchronized void remove(Entry entry, long nowMs) {
    forget(entry);
    serveWaiting(nowMs);
  }

  private void forget(Entry entry) {
    if (open.remove(entry.peer, entry)) {
      release(entry);
    }
  }

  private void release(Entry entry) {
    if (entry.admitted) {
      admitted--;
    } else {
      decrement(byAddress, entry.peer.address());
    }
  }

  private static void decrement(Map<String, Integer> counts, String address) {
    counts.computeIfPresent(address, (same, count) -> count == 1 ? null : count - 1);
  }

  /** Serves those that wait and find a place by now, and aborts those that waited too long. */
  private void serveWaiting(long nowMs) {
    if (waiting.isEmpty()) {
      return;
    }
    Set<String> full = new HashSet<>();
    for (Entry entry : List.copyOf(waiting)) {
      String address = entry.peer.address();
      if (nowMs - entry.acceptedMs > WAITING_MS) {
        leaveWaiting(entry);
        refused++;
        entry.connection.abort();
      } else if (!full.contains(address)) {
        if (makePlace(entry, nowMs)) {
          leaveWaiting(entry);
          serve(entry, nowMs);
        } else {
          full.add(address);
        }
      }
    }
  }

  private void leaveWaiting(Entry entry) {
    waiting.remove(entry);
    decrement(waitingByAddress, entry.peer.address());
  }

  /** Aborts all connections that wait. */
  synchronized void abortWaiting() {
    for (Entry entry : List.copyOf(waiting)) {
      leaveWaiting(entry);
      entry.connection.abort();
    }
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
      entry.receiving = true;
    }
  }

  /** Records that a request has arrived as a whole; its connection is not ended for others. */
  synchronized void recordReceived(InetSocketAddress remote) {
    Entry entry = entry(remote);
    if (entry != null) {
      entry.receiving = false;
      entry.answering = true;
    }
  }

  synchronized void recordAnswered(InetSocketAddress remote, long nowMs) {
    Entry entry = entry(remote);
    if (entry != null) {
      if (entry.answering) {
        known.answered(entry.peer.address(), nowMs);
      }
      entry.answering = false;
      entry.receiving = false;
      if (!entry.answered) {
        entry.answered = true;
        entry.connection.used();
      }
      entry.lastMs = nowMs;
    }
  }

  private @Nullable Entry entry(InetSocketAddress remote) {
    return open.get(new Peer(remote.getAddress().getHostAddress(), remote.getPort()));
  }

  /**
   * Records that the peer has shown a credential. Its connection then takes no place of those
   * without one, and ends for no other.
   *
   * @return false if too many are admitted already
   */
  public synchronized boolean admit(SocketAddress remote) {
    Entry entry = open.get(new Peer(String.valueOf(remote.hostAddress()), remote.port()));
    if (entry == null || entry.admitted) {
      return entry != null;
    }
    if (admitted >= limits.admittedMax()) {
      return false;
    }
    release(entry);
    entry.admitted = true;
    entry.requested = true;
    entry.connection.used();
    admitted++;
    serveWaiting(nowMs());
    return true;
  }

  /** Closes connections that have been idle for too long, and serves those that wait. */
  synchronized void sweep(long nowMs) {
    for (Entry entry : new ArrayList<>(open.values())) {
      long idleMs = nowMs - entry.lastMs;
      if (!entry.answering
          && idleMs > (entry.requested ? limits.idleMs() : limits.firstRequestMs())) {
        if (!entry.requested) {
          refused++;
        }
        forget(entry);
        entry.close();
      }
    }
    serveWaiting(nowMs);
  }

  /** Returns how many connections are served. */
  public synchronized int open() {
    return open.size();
  }

  /** Returns how many connections wait until they are served. */
  public synchronized int waiting() {
    return waiting.size();
  }

  /** Counts a connection that is closed since its peer breaks a rule of the port. */
  synchronized void countRefused() {
    refused++;
  }

  /**
   * Returns how many connections were refused, or closed for others, for lack of a first request,
   * or for a request that no port of ours takes.
   */
  public synchronized long refused() {
    return refused;
  }

  static long nowMs() {
    return System.nanoTime() / 1_000_000;
  }
}
