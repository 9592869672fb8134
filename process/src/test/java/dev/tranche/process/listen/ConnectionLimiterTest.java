package dev.tranche.process.listen;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;

class ConnectionLimiterTest {
  private static final String ATTACKER = "192.0.2.1";
  private static final String OTHER = "192.0.2.2";

  private final ConnectionLimiter limiter = new ConnectionLimiter(new ConnectionLimits(4, 3));

  private static final class Peer extends EmbeddedChannel {
    private final InetSocketAddress address;

    Peer(String address) {
      this.address = new InetSocketAddress(InetAddress.ofLiteral(address), 1);
    }

    @Override
    protected SocketAddress remoteAddress0() {
      return address;
    }

    boolean ended() {
      runPendingTasks();
      return !isOpen();
    }
  }

  private Peer connect(String address) {
    var peer = new Peer(address);
    assertThat(limiter.accept(peer)).isTrue();
    return peer;
  }

  private void ask(Peer peer) {
    limiter.answering(peer, true);
  }

  private void answer(Peer peer) {
    limiter.answering(peer, false);
  }

  @Test
  void oneAddress_hasItsLimit_andItsOldestEnds() {
    Peer oldest = connect(ATTACKER);
    Peer second = connect(ATTACKER);
    connect(ATTACKER);
    Peer other = connect(OTHER);
    connect(ATTACKER);
    assertThat(oldest.ended()).isTrue();
    assertThat(second.ended()).isFalse();
    assertThat(other.ended()).isFalse();
    assertThat(limiter.open()).isEqualTo(4);
    assertThat(limiter.refused()).isEqualTo(1);
  }

  /** Clients keep a connection that is used, and would have to open it again. */
  @Test
  void usedConnection_outlivesUnusedOnes() {
    Peer used = connect(ATTACKER);
    Peer unused = connect(ATTACKER);
    connect(ATTACKER);
    ask(used);
    answer(used);
    connect(ATTACKER);
    assertThat(used.ended()).isFalse();
    assertThat(unused.ended()).isTrue();
  }

  @Test
  void connectionThatIsBeingAnswered_endsForNoOther() {
    Peer answered = connect(ATTACKER);
    Peer next = connect(ATTACKER);
    Peer last = connect(ATTACKER);
    ask(answered);
    connect(ATTACKER);
    assertThat(answered.ended()).isFalse();
    assertThat(next.ended()).isTrue();
    ask(last);
  }

  @Test
  void connectionBeyondThoseThatAreBeingAnswered_isRefused() {
    for (int i = 0; i < 3; i++) {
      ask(connect(ATTACKER));
    }
    assertThat(limiter.accept(new Peer(ATTACKER))).isFalse();
    assertThat(limiter.refused()).isEqualTo(1);
    connect(OTHER);
  }

  @Test
  void fullPort_endsTheLongestUnused_ofTheAddressThatHasTheMost() {
    Peer oldest = connect(OTHER);
    Peer first = connect(ATTACKER);
    connect(ATTACKER);
    connect(ATTACKER);
    connect("192.0.2.3");
    assertThat(oldest.ended()).isFalse();
    assertThat(first.ended()).isTrue();
    assertThat(limiter.open()).isEqualTo(4);
  }

  /** Their event loop may be slower than the attacker. */
  @Test
  void connectionsThatEnd_areCountedUntilTheyAreClosed() {
    var peers = new ArrayList<Peer>();
    while (limiter.accepts()) {
      peers.add(connect(ATTACKER));
    }
    assertThat(peers).hasSizeLessThan(32);
    assertThat(peers.getFirst().ended()).isTrue();
    assertThat(limiter.accepts()).isTrue();
  }

  @Test
  void closedConnection_makesRoom() {
    Peer closed = connect(ATTACKER);
    Peer second = connect(ATTACKER);
    connect(ATTACKER);
    closed.close();
    connect(ATTACKER);
    assertThat(second.ended()).isFalse();
    assertThat(limiter.refused()).isZero();
  }

  @Test
  void admittedConnection_takesNoPlace_andEndsForNoOther() {
    Peer admitted = connect(ATTACKER);
    limiter.admit(admitted);
    for (int i = 0; i < 10; i++) {
      connect(ATTACKER);
      connect(OTHER);
    }
    assertThat(admitted.ended()).isFalse();
    assertThat(limiter.open()).isEqualTo(5);
    admitted.close();
    assertThat(limiter.open()).isEqualTo(4);
  }

  @Test
  void loopback_hasNoLimit_whereItIsOurOwn() {
    var own = new ConnectionLimiter(new ConnectionLimits(4, 3).withoutLoopback());
    for (int i = 0; i < 10; i++) {
      assertThat(own.accept(new Peer("127.0.0.1"))).isTrue();
    }
    assertThat(own.open()).isEqualTo(10);
    assertThat(own.refused()).isZero();
  }

  @Test
  void peerThatHasLeft_isNotCounted() {
    assertThat(limiter.accept(new EmbeddedChannel())).isFalse();
    assertThat(limiter.open()).isZero();
  }

  @Test
  void closeUnused_closesAllButThoseThatAreBeingAnswered() {
    Peer unused = connect(ATTACKER);
    Peer answered = connect(OTHER);
    ask(answered);
    limiter.closeUnused();
    assertThat(unused.ended()).isTrue();
    assertThat(answered.ended()).isFalse();
  }
}
