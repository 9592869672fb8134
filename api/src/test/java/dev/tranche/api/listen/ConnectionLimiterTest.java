package dev.tranche.api.listen;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ConnectionLimiterTest {
  private static final String ATTACKER = "192.0.2.1";
  private static final String OTHER = "192.0.2.2";

  private final ConnectionLimiter limiter =
      new ConnectionLimiter(new ConnectionLimits(4, 3, 1_000, 10_000));

  /** What became of the connections, by address and port. */
  private final List<String> ended = new ArrayList<>();

  @Test
  void oneAddress_hasItsLimit_andTheOthersHaveRoom() {
    for (int port = 1; port <= 3; port++) {
      assertThat(accepted(ATTACKER, port, 0)).isNotNull();
    }
    assertThat(accepted(ATTACKER, 4, 0)).isNull();
    assertThat(accepted(OTHER, 1, 0)).isNotNull();
    assertThat(limiter.open()).isEqualTo(4);
    assertThat(limiter.refused()).isEqualTo(1);
  }

  @Test
  void closedConnection_makesRoomOnce() {
    Runnable closed = Objects.requireNonNull(accepted(ATTACKER, 1, 0));
    accepted(ATTACKER, 2, 0);
    closed.run();
    closed.run();
    assertThat(limiter.open()).isEqualTo(1);
    assertThat(accepted(ATTACKER, 3, 0)).isNotNull();
    assertThat(accepted(ATTACKER, 4, 0)).isNotNull();
    assertThat(accepted(ATTACKER, 5, 0)).isNull();
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
    var limiter =
        new ConnectionLimiter(new ConnectionLimits(4, 3, 1_000, 10_000).withoutLoopback());
    for (int port = 1; port <= 3; port++) {
      assertThat(accepted(limiter, "127.0.0.1", port, port)).isNotNull();
    }
    assertThat(accepted(limiter, ATTACKER, 1, 4)).isNotNull();
    assertThat(accepted(limiter, "127.0.0.1", 4, 5)).isNotNull();
    assertThat(ended).containsExactly(ATTACKER + ":1 aborted");
    assertThat(accepted(limiter, "127.0.0.1", 5, 6)).isNotNull();
    assertThat(ended).last().isEqualTo("127.0.0.1:1 aborted");
    assertThat(limiter.open()).isEqualTo(4);
  }

  /** The kernel may hear of an end before we do, and give the peer its port again. */
  @Test
  void connectionOfTheSamePeer_isAnother() {
    Runnable first = Objects.requireNonNull(accepted(OTHER, 1, 0));
    Runnable second = Objects.requireNonNull(accepted(OTHER, 1, 1));
    first.run();
    assertThat(limiter.open()).isEqualTo(1);
    second.run();
    assertThat(limiter.open()).isZero();
    for (int port = 1; port <= 3; port++) {
      assertThat(accepted(OTHER, port, 2)).isNotNull();
    }
  }

  private @Nullable Runnable accepted(String address, int port, long nowMs) {
    return accepted(limiter, address, port, nowMs);
  }

  private @Nullable Runnable accepted(
      ConnectionLimiter limiter, String address, int port, long nowMs) {
    String name = address + ":" + port;
    return limiter.accept(
        new InetSocketAddress(InetAddress.ofLiteral(address), port),
        new ConnectionLimiter.Connection() {
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
  }
}
