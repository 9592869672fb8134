package dev.tranche.process.listen;

import io.netty.channel.Channel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Limits the connections of one port, counted from the moment they are accepted. A further one ends
 * the longest unused one of its address, or, if the port is full, of the address that has the most,
 * unless it is being answered. Thread-safe.
 */
final class ConnectionLimiter {
  private static final String LOOPBACK = "127.0.0.1";

  /** So many may end at once. Beyond them none is accepted: an event loop is slower than that. */
  private static final int ENDING_MAX = 16;

  private final ConnectionLimits limits;

  /** The longest unused first, since it is in the order of access. */
  private final Map<Channel, Connection> open = new LinkedHashMap<>(64, 0.75f, true);

  /** Without the admitted ones. */
  private final Map<InetAddress, Integer> byAddress = new HashMap<>();

  private int counted;

  /** Connections that end for others and are not closed yet. */
  private int ending;

  private long refused;

  private static final class Connection {
    final InetAddress address;

    /** Whether a request has arrived as a whole and has no answer yet. */
    boolean answering;

    /** Whether it takes no place, and ends for no other. */
    boolean admitted;

    Connection(InetAddress address) {
      this.address = address;
    }
  }

  ConnectionLimiter(ConnectionLimits limits) {
    this.limits = limits;
  }

  /**
   * Counts a connection that was just accepted.
   *
   * @return false if there is no room for it
   */
  synchronized boolean accept(Channel channel) {
    if (!(channel.remoteAddress() instanceof InetSocketAddress peer)) {
      // It has left.
      return false;
    }
    var connection = new Connection(peer.getAddress());
    if (!limits.loopbackLimited() && peer.getAddress().getHostAddress().equals(LOOPBACK)) {
      connection.admitted = true;
    } else if (hasRoom(connection.address)) {
      byAddress.merge(connection.address, 1, Integer::sum);
      counted++;
    } else {
      refused++;
      return false;
    }
    open.put(channel, connection);
    channel.closeFuture().addListener(end -> closed(channel));
    return true;
  }

  private boolean hasRoom(InetAddress address) {
    if (byAddress.getOrDefault(address, 0) >= limits.perAddressMax()) {
      return endLongestUnused(other -> other.address.equals(address));
    }
    if (counted < limits.connectionsMax()) {
      return true;
    }
    // Not of any: a crowd at many addresses would end what comes from few.
    InetAddress most = Collections.max(byAddress.entrySet(), Map.Entry.comparingByValue()).getKey();
    return endLongestUnused(other -> other.address.equals(most)) || endLongestUnused(other -> true);
  }

  private boolean endLongestUnused(Predicate<Connection> candidate) {
    Optional<Map.Entry<Channel, Connection>> longest =
        open.entrySet().stream()
            .filter(each -> !each.getValue().answering && !each.getValue().admitted)
            .filter(each -> candidate.test(each.getValue()))
            .findFirst();
    longest.ifPresent(
        each -> {
          refused++;
          ending++;
          Channel channel = each.getKey();
          open.remove(channel);
          release(each.getValue());
          // At once, even if its peer leaves data unread.
          channel.eventLoop().execute(() -> channel.unsafe().close(channel.voidPromise()));
        });
    return longest.isPresent();
  }

  private synchronized void closed(Channel channel) {
    Connection before = open.remove(channel);
    if (before == null) {
      ending--;
    } else {
      release(before);
    }
  }

  /** Returns whether a further connection can be accepted now. */
  synchronized boolean accepts() {
    return ending < ENDING_MAX;
  }

  private void release(Connection connection) {
    if (!connection.admitted) {
      counted--;
      byAddress.computeIfPresent(
          connection.address, (same, count) -> count == 1 ? null : count - 1);
    }
  }

  /** Records that a request has arrived as a whole, or that its answer has been written. */
  synchronized void answering(Channel channel, boolean answering) {
    Connection connection = open.get(channel);
    if (connection != null) {
      connection.answering = answering;
    }
  }

  /**
   * Records that the peer has shown a credential. Its connection then takes no place of those
   * without one, and ends for no other.
   */
  synchronized void admit(Channel channel) {
    Connection connection = open.get(channel);
    if (connection != null) {
      release(connection);
      connection.admitted = true;
    }
  }

  synchronized void closeUnused() {
    List<Channel> unused =
        open.entrySet().stream()
            .filter(each -> !each.getValue().answering)
            .map(Map.Entry::getKey)
            .toList();
    for (Channel channel : unused) {
      var _ = channel.close();
    }
  }

  synchronized int open() {
    return open.size();
  }

  synchronized long refused() {
    return refused;
  }
}
