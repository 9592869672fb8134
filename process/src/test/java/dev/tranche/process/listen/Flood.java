package dev.tranche.process.listen;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.Socket;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Strangers that open connections to a port and keep them, while honest peers ask.
 *
 * @param sockets which are closed after each flood
 * @param strangers loopback addresses
 * @param attackers of each stranger at once
 * @param keptMax connections that an attacker keeps
 */
public record Flood(ClientSockets sockets, List<String> strangers, int attackers, int keptMax) {
  /** What is done with a new connection. */
  public interface Attack {
    void on(Socket connected) throws Exception;
  }

  /** Fails if an honest peer is refused. */
  public interface Honest {
    void ask() throws Exception;
  }

  /** The flood goes on from before the first honest request until after the last one. */
  public void during(String what, int port, Attack attack, Honest honest) throws Exception {
    honest.ask();
    var going = new AtomicBoolean(true);
    var attempts = new AtomicInteger();
    var started = new CountDownLatch(strangers.size() * Math.min(keptMax, 40));
    int before = 0;
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < strangers.size() * attackers; i++) {
        String from = strangers.get(i % strangers.size());
        threads.execute(
            () -> {
              var kept = new ArrayDeque<Socket>();
              while (going.get()) {
                attackOnce(attack, from, port, kept, going);
                attempts.incrementAndGet();
                started.countDown();
              }
            });
      }
      try {
        started.await();
        before = attempts.get();
        honest.ask();
      } catch (AssertionError refused) {
        throw new AssertionError(what, refused);
      } finally {
        going.set(false);
        sockets.close();
      }
    }
    assertThat(attempts.get()).as(what).isGreaterThan(before);
  }

  private void attackOnce(
      Attack attack, String from, int port, Deque<Socket> kept, AtomicBoolean going) {
    try {
      if (kept.size() > keptMax) {
        sockets.close(kept.remove());
      }
      Socket socket = sockets.connect(from, port);
      kept.add(socket);
      if (going.get()) {
        attack.on(socket);
      } else {
        sockets.close(socket);
      }
    } catch (Exception ended) {
      // Another one has its place.
    }
  }
}
