package dev.tranche.simulate;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Delivers messages late, or not at all where a partition is. */
final class Network {
  private static final int DELAY_MS_MAX = 8;
  private static final int SLOW_ONE_IN = 40;
  private static final int SLOW_MS_MAX = 400;

  private final EventQueue queue;
  private final SplittableRandom random;
  private final Map<String, Long> blockedUntilMs = new HashMap<>();
  private final Map<String, Long> slowUntilMs = new HashMap<>();

  Network(EventQueue queue, SplittableRandom random) {
    this.queue = queue;
    this.random = random;
  }

  /** Drops what one sends to the other, in this direction only. */
  void block(String from, String to, long forMs) {
    blockedUntilMs.merge(from + ">" + to, queue.nowMs() + forMs, Math::max);
  }

  /** Delays all that this one sends and receives by up to seconds. */
  void slow(String name, long forMs) {
    slowUntilMs.merge(name, queue.nowMs() + forMs, Math::max);
  }

  boolean blocked(String from, String to) {
    Long until = blockedUntilMs.get(from + ">" + to);
    return until != null && until > queue.nowMs();
  }

  /** Returns when messages get through in this direction. */
  long openAtMs(String from, String to) {
    return Math.max(queue.nowMs(), blockedUntilMs.getOrDefault(from + ">" + to, 0L));
  }

  private boolean slow(String name) {
    Long until = slowUntilMs.get(name);
    return until != null && until > queue.nowMs();
  }

  long delayMs(String from, String to) {
    long delay = random.nextInt(DELAY_MS_MAX + 1);
    if (random.nextInt(SLOW_ONE_IN) == 0) {
      delay += random.nextInt(SLOW_MS_MAX);
    }
    return slow(from) || slow(to) ? delay + random.nextInt(10 * SLOW_MS_MAX) : delay;
  }

  /** Sends a message that nobody waits for. */
  void send(SimulatedProcess from, SimulatedProcess to, Runnable received) {
    if (!blocked(from.name, to.name)) {
      to.run(delayMs(from.name, to.name), received);
    }
  }

  /**
   * Calls another process.
   *
   * @param serve on its side; it gets what takes the answer
   * @param answered on the caller's side; empty if no answer came in time
   */
  <T> void call(
      SimulatedProcess from,
      SimulatedProcess to,
      long timeoutMs,
      Consumer<Consumer<T>> serve,
      Consumer<Optional<T>> answered) {
    var open = new boolean[] {true};
    Consumer<Optional<T>> once =
        answer -> {
          if (open[0]) {
            open[0] = false;
            answered.accept(answer);
          }
        };
    from.run(timeoutMs, () -> once.accept(Optional.empty()));
    int asked = from.incarnation();
    send(
        from,
        to,
        () ->
            serve.accept(
                answer -> {
                  if (from.incarnation() == asked) {
                    send(to, from, () -> once.accept(Optional.of(answer)));
                  }
                }));
  }
}
