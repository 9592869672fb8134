package dev.tranche.process.listen;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.net.SocketAddress;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class ConnectionLimiterTest {
  private static final String ATTACKER = "192.0.2.1";
  private static final long SAFE_MS = 500;
  private static final String OTHER = "192.0.2.2";

  private ConnectionLimiter limiter = new ConnectionLimiter(limits(4, 3, 64, 0));

  /** What became of the connections, by address and port. */
  private final List<String> ended = new ArrayList<>();

  private final List<String> used = new ArrayList<>();

  /** For how long all peers have sent nothing. */
  private long quietMs = Long.MAX_VALUE;

  /** What to run once a served connection is closed, by address and port. */
  private final Map<String, Runnable> served = new HashMap<>();

  @Test
  void oneAddress_hasItsLimit_andTheOthersHaveRoom() {
    for (int port = 1; port <= 3; port++) {
      assertThat(accepted(ATTACKER, port, 0)).isTrue();
    }
    assertThat(accepted(ATTACKER, 4, 0)).isFalse();
    assertThat(limiter.waiting()).isEqualTo(1);
    assertThat(accepted(OTHER, 1, 0)).isTrue();
    assertThat(limiter.open()).isEqualTo(4);
    assertThat(limiter.refused()).isZero();
  }

  @Test
  void closedConnection_makesRoomOnce_forTheOneThatWaits() {
    // The end of a connection is noted by the clock.
    long nowMs = ConnectionLimiter.nowMs();
    for (int port = 1; port <= 4; port++) {
      accepted(ATTACKER, port, nowMs);
    }
    close(ATTACKER, 1);
    close(ATTACKER, 1);
    assertThat(served).containsKey(ATTACKER + ":4");
    assertThat(limiter.open()).isEqualTo(3);
    assertThat(accepted(ATTACKER, 5, nowMs)).isFalse();
  }

  /** Else a pod on the node could lock out the kubelet's probes, which share its address. */
  @Test
  void atAnAddressesLimit_theLeastUsedEnds_notTheNewcomer() {
    for (int port = 1; port <= 3; port++) {
      accepted(ATTACKER, port, 0);
    }
    answered(ATTACKER, 1, 100);
    limiter.recordActivity(ATTACKER, 2, 100);
    assertThat(accepted(ATTACKER, 4, SAFE_MS)).isTrue();
    assertThat(ended).containsExactly(ATTACKER + ":3 aborted");
    long laterMs = 100 + SAFE_MS;
    assertThat(accepted(ATTACKER, 5, laterMs)).isTrue();
    assertThat(ended).last().isEqualTo(ATTACKER + ":2 closed");
    assertThat(limiter.open()).isEqualTo(3);
  }

  @Test
  void connectionInUse_isKept_andTheNewcomerWaitsForIt() {
    for (int port = 1; port <= 3; port++) {
      accepted(ATTACKER, port, 0);
      limiter.recordActivity(ATTACKER, port, 0);
      limiter.recordReceived(peer(ATTACKER, port));
    }
    assertThat(accepted(ATTACKER, 4, 900)).isFalse();
    limiter.sweep(901);
    assertThat(ended).isEmpty();
    limiter.recordAnswered(peer(ATTACKER, 2), 902);
    limiter.sweep(899 + SAFE_MS);
    assertThat(ended).isEmpty();
    limiter.sweep(900 + SAFE_MS);
    assertThat(ended).containsExactly(ATTACKER + ":2 closed");
    assertThat(served).containsKey(ATTACKER + ":4");
  }

  @Test
  void connectionThatWaitsForTooLong_isAborted() {
    for (int port = 1; port <= 3; port++) {
      accepted(ATTACKER, port, 0);
      limiter.recordActivity(ATTACKER, port, 0);
      limiter.recordReceived(peer(ATTACKER, port));
    }
    accepted(ATTACKER, 4, 0);
    limiter.sweep(ConnectionLimiter.WAITING_MS);
    assertThat(ended).isEmpty();
    limiter.sweep(ConnectionLimiter.WAITING_MS + 1);
    assertThat(ended).containsExactly(ATTACKER + ":4 aborted");
    assertThat(limiter.waiting()).isZero();
  }

  /** As 140 pods did that sent bodies slowly: each address had one connection, in use. */
  @Test
  void moreAddressesThanPlaces_doNotShutOutOneThatWasAnsweredLongBefore() {
    accepted(OTHER, 1, 0);
    limiter.recordReceived(peer(OTHER, 1));
    limiter.recordAnswered(peer(OTHER, 1), 0);
    limiter.recordReceived(peer(OTHER, 1));
    quietMs = 0;
    long nowMs = KnownAddresses.AHEAD_MS;
    for (int i = 0; i < 8; i++) {
      accepted(crowd(i), 1, nowMs);
    }
    assertThat(limiter.open()).isEqualTo(4);
    assertThat(ended).isEmpty();
    assertThat(accepted(OTHER, 2, nowMs + 1)).isTrue();
    assertThat(ended).singleElement().asString().startsWith("192.0.2.10");
  }

  /** Their first requests are answered, too, but not as long ago. */
  @Test
  void crowdThatWasAnswered_endsForTheOneThatWasAnsweredBefore_betweenItsRequests() {
    accepted(OTHER, 1, 0);
    limiter.recordReceived(peer(OTHER, 1));
    limiter.recordAnswered(peer(OTHER, 1), 0);
    long nowMs = KnownAddresses.AHEAD_MS;
    for (int i = 0; i < 3; i++) {
      accepted(crowd(i), 1, nowMs);
      limiter.recordReceived(peer(crowd(i), 1));
      limiter.recordAnswered(peer(crowd(i), 1), nowMs);
      limiter.recordActivity(crowd(i), 1, nowMs);
    }
    limiter.recordReceived(peer(OTHER, 1));
    assertThat(accepted(OTHER, 2, nowMs + 1)).isFalse();
    limiter.recordReceived(peer(crowd(1), 1));
    limiter.recordAnswered(peer(crowd(1), 1), nowMs + 2);
    limiter.sweep(nowMs + 3);
    assertThat(ended).containsExactly(crowd(1) + ":1 closed");
    assertThat(served).containsKey(OTHER + ":2");
  }

  /** Three API servers behind three addresses. */
  @Test
  void addressesThatWereAnsweredAtAboutTheSameTime_areEqual() {
    accepted(OTHER, 1, 0);
    limiter.recordReceived(peer(OTHER, 1));
    limiter.recordAnswered(peer(OTHER, 1), 0);
    limiter.recordReceived(peer(OTHER, 1));
    quietMs = 0;
    for (int i = 0; i < 3; i++) {
      accepted(crowd(i), 1, KnownAddresses.AHEAD_MS - 1);
    }
    assertThat(accepted(OTHER, 2, KnownAddresses.AHEAD_MS - 1)).isFalse();
  }

  private static String crowd(int number) {
    return "192.0.2." + (100 + number);
  }

  private static ConnectionLimits limits(int max, int perAddress, int waiting, int admitted) {
    return new ConnectionLimits(max, perAddress, 1_000, 10_000, true, SAFE_MS, waiting, admitted);
  }

  /** A burst of handshakes keeps the event loop busy for longer than a peer may be silent. */
  @Test
  void handshakeThatGoesOn_isNotEnded_howeverLongItTakes() {
    for (int port = 1; port <= 4; port++) {
      accepted(ATTACKER, port, port);
    }
    quietMs = SAFE_MS - 1;
    limiter.sweep(1 + SAFE_MS);
    assertThat(ended).isEmpty();
    quietMs = SAFE_MS;
    limiter.sweep(1 + SAFE_MS);
    assertThat(ended).containsExactly(ATTACKER + ":1 aborted");
    answered(ATTACKER, 2, SAFE_MS);
    answered(ATTACKER, 2, SAFE_MS);
    assertThat(used).containsExactly(ATTACKER + ":2");
  }

  /** Else fresh connections without a request would push out those that clients keep. */
  @Test
  void usedConnection_isNotEnded_whileAnotherOneIsUnused() {
    accepted(ATTACKER, 1, 0);
    answered(ATTACKER, 1, 0);
    long openedMs = 2 * ConnectionLimiter.REUSE_MS;
    accepted(ATTACKER, 2, openedMs);
    accepted(ATTACKER, 3, openedMs);
    assertThat(accepted(ATTACKER, 4, openedMs + 1)).isFalse();
    assertThat(ended).isEmpty();
    limiter.sweep(openedMs + SAFE_MS);
    assertThat(ended).containsExactly(ATTACKER + ":2 aborted");
    assertThat(served).containsKey(ATTACKER + ":4");
  }

  /** Else a peer that asks all the time on each of its connections would shut out others. */
  @Test
  void whoHasWaited_getsThePlaceOfAnIdleConnection_howeverBusyItIs() {
    for (int port = 1; port <= 3; port++) {
      accepted(ATTACKER, port, 0);
      answered(ATTACKER, port, 10L * port);
    }
    assertThat(accepted(ATTACKER, 4, 40)).isFalse();
    answered(ATTACKER, 1, 500);
    limiter.sweep(39 + SAFE_MS);
    assertThat(ended).isEmpty();
    limiter.sweep(40 + SAFE_MS);
    assertThat(ended).containsExactly(ATTACKER + ":2 closed");
    assertThat(served).containsKey(ATTACKER + ":4");
  }

  @Test
  void aQuarterOfTheWaitingPlaces_isForOthers() {
    limiter = new ConnectionLimiter(limits(2, 1, 4, 0));
    for (int port = 1; port <= 5; port++) {
      accepted(ATTACKER, port, 0);
    }
    assertThat(limiter.waiting()).isEqualTo(3);
    assertThat(ended).containsExactly(ATTACKER + ":5 aborted");
    assertThat(accepted(OTHER, 1, 0)).isTrue();
    accepted(OTHER, 2, 0);
    assertThat(limiter.waiting()).isEqualTo(4);
    assertThat(limiter.refused()).isEqualTo(1);
  }

  @Test
  void admitted_takeNoPlaceOfOthers_andEndForNone() {
    limiter = new ConnectionLimiter(limits(2, 2, 64, 2));
    for (int port = 1; port <= 2; port++) {
      accepted(OTHER, port, 0);
      assertThat(limiter.admit(address(OTHER, port))).isTrue();
    }
    for (int port = 1; port <= 4; port++) {
      accepted(ATTACKER, port, 600L * port);
    }
    assertThat(ended).containsExactly(ATTACKER + ":1 aborted", ATTACKER + ":2 aborted");
    assertThat(limiter.open()).isEqualTo(4);
    assertThat(limiter.admit(address(ATTACKER, 3))).isFalse();
    close(OTHER, 1);
    assertThat(limiter.admit(address(ATTACKER, 3))).isTrue();
    assertThat(limiter.open()).isEqualTo(3);
  }

  /** All nodes connect at once after a restart; each would end the handshake of another. */
  @Test
  void fullPort_endsNobodysHandshake_forAnAddressWithAsMany() {
    limiter = new ConnectionLimiter(limits(2, 2, 64, 0));
    accepted("192.0.2.11", 1, 0);
    accepted("192.0.2.12", 1, 0);
    assertThat(accepted("192.0.2.13", 1, 1)).isFalse();
    assertThat(ended).isEmpty();
    limiter.sweep(SAFE_MS);
    assertThat(ended).hasSize(1);
    assertThat(served).containsKey("192.0.2.13:1");
  }

  @Test
  void fullPort_closesTheLeastUsedOfTheAddressThatHasMost() {
    accepted(OTHER, 1, 0);
    accepted(ATTACKER, 1, 1);
    accepted(ATTACKER, 2, 2);
    accepted(ATTACKER, 3, 3);
    limiter.recordActivity(ATTACKER, 1, 4);
    accepted("192.0.2.3", 1, 5);
    assertThat(ended).containsExactly(ATTACKER + ":2 aborted");
    accepted("192.0.2.4", 1, 6);
    assertThat(ended).last().isEqualTo(ATTACKER + ":3 aborted");
    assertThat(limiter.open()).isEqualTo(4);
    assertThat(limiter.refused()).isEqualTo(2);
  }

  @Test
  void connectionWithoutARequest_isAborted_andOneThatIsSilentIsClosed() {
    accepted(ATTACKER, 1, 0);
    accepted(OTHER, 1, 0);
    limiter.recordActivity(OTHER, 1, 500);
    limiter.sweep(1_000);
    assertThat(ended).isEmpty();
    limiter.sweep(1_001);
    assertThat(ended).containsExactly(ATTACKER + ":1 aborted");
    limiter.recordActivity(OTHER, 1, 5_000);
    limiter.sweep(15_000);
    assertThat(ended).hasSize(1);
    limiter.sweep(15_001);
    assertThat(ended).last().isEqualTo(OTHER + ":1 closed");
    assertThat(limiter.open()).isZero();
    assertThat(limiter.refused()).isEqualTo(1);
  }

  @Test
  void loopback_mayHaveAll_andIsTheLastToGo() {
    limiter = new ConnectionLimiter(limits(4, 3, 64, 0).withoutLoopback());
    for (int port = 1; port <= 3; port++) {
      assertThat(accepted("127.0.0.1", port, port)).isTrue();
    }
    assertThat(accepted(ATTACKER, 1, 4)).isTrue();
    assertThat(accepted("127.0.0.1", 4, 5)).isTrue();
    assertThat(ended).containsExactly(ATTACKER + ":1 aborted");
    assertThat(accepted("127.0.0.1", 5, 1 + SAFE_MS)).isTrue();
    assertThat(ended).last().isEqualTo("127.0.0.1:1 aborted");
    assertThat(limiter.open()).isEqualTo(4);
  }

  /** The kernel may hear of an end before we do, and give the peer its port again. */
  @Test
  void connectionOfTheSamePeer_isAnother() {
    accepted(OTHER, 1, 0);
    Runnable first = Objects.requireNonNull(served.get(OTHER + ":1"));
    accepted(OTHER, 1, 1);
    Runnable second = Objects.requireNonNull(served.get(OTHER + ":1"));
    first.run();
    assertThat(limiter.open()).isEqualTo(1);
    second.run();
    assertThat(limiter.open()).isZero();
    for (int port = 1; port <= 3; port++) {
      assertThat(accepted(OTHER, port, 2)).isTrue();
    }
  }

  private void answered(String address, int port, long nowMs) {
    limiter.recordActivity(address, port, nowMs);
    limiter.recordReceived(peer(address, port));
    limiter.recordAnswered(peer(address, port), nowMs);
  }

  private void close(String address, int port) {
    Objects.requireNonNull(served.get(address + ":" + port)).run();
  }

  private static InetSocketAddress peer(String address, int port) {
    return new InetSocketAddress(InetAddress.ofLiteral(address), port);
  }

  private static SocketAddress address(String address, int port) {
    return SocketAddress.inetSocketAddress(peer(address, port));
  }

  /** Returns whether it is served at once. */
  private boolean accepted(String address, int port, long nowMs) {
    String name = address + ":" + port;
    served.remove(name);
    limiter.accept(
        peer(address, port),
        new ConnectionLimiter.Connection() {
          @Override
          public void serve(long safeMs, Runnable onClosed) {
            served.put(name, onClosed);
          }

          @Override
          public long quietMs() {
            return quietMs;
          }

          @Override
          public void used() {
            used.add(name);
          }

          @Override
          public void close() {
            ended.add(name + " closed");
          }

          @Override
          public void abort() {
            ended.add(name + " aborted");
          }
        },
        nowMs);
    return served.containsKey(name);
  }
}
