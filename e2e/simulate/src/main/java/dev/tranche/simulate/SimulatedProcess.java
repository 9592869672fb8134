package dev.tranche.simulate;

import java.util.SplittableRandom;

/**
 * A process that can be frozen, killed and restarted. What it had planned ends with it. It has
 * clocks of its own, which drift, jump and stand still while its machine is suspended.
 */
class SimulatedProcess {
  private static final long FIRST_MONOTONIC_MS = 1_000_000;
  private static final long FIRST_WALL_MS = 1_780_000_000_000L;
  private static final double DRIFT_MAX = 0.000_3;

  final String name;
  final EventQueue queue;
  private final double rate;
  private final long bootedMs;
  private int incarnation;
  private boolean running;

  /** Whether its machine is gone. */
  boolean removed;

  private long frozenUntilMs;
  private long suspendedMs;
  private long wallOffsetMs;

  SimulatedProcess(String name, EventQueue queue, SplittableRandom random) {
    this.name = name;
    this.queue = queue;
    this.rate = 1 + DRIFT_MAX * (2 * random.nextDouble() - 1);
    this.bootedMs = FIRST_MONOTONIC_MS + random.nextLong(FIRST_MONOTONIC_MS);
  }

  /** Its monotonic clock. */
  long clockMs() {
    return bootedMs + (long) ((queue.nowMs() - suspendedMs) * rate);
  }

  /** Its time of day, since 1970. */
  long wallMs() {
    return FIRST_WALL_MS + queue.nowMs() + wallOffsetMs;
  }

  boolean running() {
    return running;
  }

  /** Whether it has not been frozen for so long. */
  boolean hasRunFor(long ms) {
    return queue.nowMs() - frozenUntilMs >= ms;
  }

  int incarnation() {
    return incarnation;
  }

  /** Plans a task of this process. It does not run if the process ends before. */
  void run(long delayMs, Runnable task) {
    int planned = incarnation;
    queue.after(delayMs, () -> runNow(planned, task));
  }

  private void runNow(int planned, Runnable task) {
    if (planned != incarnation || !running) {
      return;
    }
    if (queue.nowMs() < frozenUntilMs) {
      queue.after(frozenUntilMs - queue.nowMs(), () -> runNow(planned, task));
    } else {
      task.run();
    }
  }

  /** Runs a task again and again, the first time after one period. */
  void every(long periodMs, Runnable task) {
    run(
        periodMs,
        () -> {
          task.run();
          every(periodMs, task);
        });
  }

  void start() {
    incarnation++;
    running = true;
    removed = false;
    frozenUntilMs = 0;
  }

  void kill() {
    incarnation++;
    running = false;
  }

  /** Stops it as SIGSTOP does: its clocks go on. */
  void freeze(long forMs) {
    frozenUntilMs = Math.max(frozenUntilMs, queue.nowMs() + forMs);
  }

  /** Suspends its machine: its monotonic clock stands still. */
  void suspend(long forMs) {
    int of = incarnation;
    freeze(forMs);
    queue.after(
        forMs,
        () -> {
          if (of == incarnation) {
            suspendedMs += forMs;
          }
        });
  }

  void jump(long wallMs) {
    wallOffsetMs += wallMs;
  }
}
