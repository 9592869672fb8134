package dev.tranche.simulate;

import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * What happens, in the order of virtual time. Of two things at one time the earlier comes first.
 */
final class EventQueue {
  private record Entry(long atMs, long number, Runnable task) {}

  private final PriorityQueue<Entry> entries =
      new PriorityQueue<>(Comparator.comparingLong(Entry::atMs).thenComparingLong(Entry::number));

  private long nowMs;
  private long number;

  long nowMs() {
    return nowMs;
  }

  void after(long ms, Runnable task) {
    entries.add(new Entry(nowMs + Math.max(0, ms), number++, task));
  }

  /** Runs what comes next, and returns whether there was anything until then. */
  boolean runNext(long untilMs) {
    Entry next = entries.peek();
    if (next == null || next.atMs() > untilMs) {
      nowMs = Math.max(nowMs, untilMs);
      return false;
    }
    entries.remove();
    nowMs = next.atMs();
    next.task().run();
    return true;
  }
}
