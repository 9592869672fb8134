package dev.tranche.extender.stream;

import dev.tranche.extender.limit.TokenBucket;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Limits the work that the reports of all nodes together cause on the loop that decides. While they
 * cause more, each node waits for its turn with its latest report. The next turn is that of the
 * node with the least work so far, as in fair queueing: a node that sends much waits for those that
 * send little. Confined to the streams' loop.
 */
final class ReportTurns {
  /** Half of the loop. 5,000 nodes of 8 GPUs and 80 pods need 200,000. */
  static final int UNITS_PER_S = 500_000;

  private static final int UNITS_BURST = 100_000;

  /** On the loop that decides, at once: other work waits for these, about 10 ms. */
  static final int UNITS_AT_ONCE = 10_000;

  /** What a node delivers when it has its turn. */
  interface Turn {
    /** Returns the work that it will probably be. */
    int units();

    /**
     * Hands over the latest report. {@link ReportTurns#applied} must follow with the same number.
     *
     * @return the work that it is
     */
    int handOver();

    /** Another stream of the node has taken its place. */
    void replaced();

    /** A report that is applied after its stream's loss would make the node look alive. */
    boolean closed();
  }

  interface Timer {
    void after(long ms, Runnable task);
  }

  /**
   * @param start the node's work before the turn, by the clock of {@link #served}
   * @param finish the same after it
   */
  private record Waiting(ReportWork node, long start, long finish, long number) {}

  private final LongSupplier clockMs;
  private final Executor own;
  private final Timer timer;
  private final Runnable delayed;
  private final TokenBucket units;
  private final PriorityQueue<Waiting> waiting =
      new PriorityQueue<>(
          Comparator.comparingLong(Waiting::finish).thenComparingLong(Waiting::number));

  /** The work of the node that had the last turn, before it; a node that comes later starts so. */
  private long served;

  private long number;
  private int atOnce;

  /** Work that has been applied since {@link #atOnce} was last lowered. */
  private final AtomicInteger applied = new AtomicInteger();

  private boolean resumes;

  /** Read on another thread. */
  private volatile int size;

  /**
   * @param own runs a task on the streams' loop
   * @param timer does so later
   * @param delayed is called for each report that must wait for a time
   */
  ReportTurns(LongSupplier clockMs, Executor own, Timer timer, Runnable delayed) {
    this.clockMs = clockMs;
    this.own = own;
    this.timer = timer;
    this.delayed = delayed;
    this.units = new TokenBucket(UNITS_BURST, UNITS_PER_S, clockMs.getAsLong());
  }

  /** Returns how many nodes wait for their turn; read on any thread. */
  int waiting() {
    return size;
  }

  /** Lets a node deliver its latest report as soon as its own work and all nodes' allow it. */
  void enter(ReportWork node, Turn turn) {
    long delayMs = node.delayMs(clockMs.getAsLong());
    if (delayMs > 0) {
      delayed.run();
      timer.after(delayMs, () -> queue(node, turn));
    } else {
      queue(node, turn);
    }
  }

  private void queue(ReportWork node, Turn turn) {
    if (turn.closed()) {
      return;
    }
    @Nullable Turn before = node.next;
    node.next = turn;
    if (before != null) {
      before.replaced();
    } else {
      long start = Math.max(served, node.finish);
      waiting.add(new Waiting(node, start, start + turn.units(), number++));
    }
    serve();
  }

  /** The turn's report has been applied; may be called on any thread. */
  void applied(int work) {
    // One task for all that were applied together: each wakes the streams' loop.
    if (work > 0 && applied.getAndAdd(work) == 0) {
      own.execute(
          () -> {
            atOnce -= applied.getAndSet(0);
            serve();
          });
    }
  }

  private void serve() {
    while (!waiting.isEmpty() && atOnce < UNITS_AT_ONCE) {
      long debtMs = units.debtMs(clockMs.getAsLong());
      if (debtMs > 0) {
        resumeAfter(debtMs);
        break;
      }
      serve(waiting.remove());
    }
    size = waiting.size();
  }

  private void serve(Waiting next) {
    @Nullable Turn turn = next.node().next;
    next.node().next = null;
    if (turn == null || turn.closed()) {
      return;
    }
    int work = turn.handOver();
    served = next.start();
    next.node().finish = next.start() + work;
    units.take(work, clockMs.getAsLong());
    atOnce += work;
  }

  private void resumeAfter(long ms) {
    if (!resumes) {
      resumes = true;
      delayed.run();
      timer.after(
          ms,
          () -> {
            resumes = false;
            serve();
          });
    }
  }
}
