package dev.tranche.e2e.bench.load;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * The readings of one GPU's memory that the extender got. Written on one thread, read on another.
 */
final class ReportedMemory {
  /** How long a replaced reading is kept; after that, no extender has it as the latest. */
  private static final double REMEMBERED_S = 60;

  /**
   * @param memory the used part of the usable memory, 0 to 1
   * @param sentS when it was first sent
   */
  record Reading(double memory, double sentS) {}

  private final Deque<Reading> readings = new ArrayDeque<>();

  ReportedMemory() {
    readings.add(new Reading(0, -Double.MAX_VALUE));
  }

  synchronized void add(double memory, double sentS) {
    if (readings.getLast().memory() == memory) {
      return;
    }
    readings.addLast(new Reading(memory, sentS));
    forget(sentS - REMEMBERED_S);
  }

  private void forget(double beforeS) {
    Reading first = readings.removeFirst();
    while (!readings.isEmpty() && readings.getFirst().sentS() <= beforeS) {
      first = readings.removeFirst();
    }
    readings.addFirst(first);
  }

  /** Returns the readings that may have been the latest at some time between these two. */
  synchronized List<Reading> lastBetween(double fromS, double untilS) {
    var last = new ArrayList<Reading>();
    for (Reading reading : readings) {
      if (reading.sentS() <= fromS) {
        last.clear();
      }
      if (reading.sentS() <= untilS) {
        last.add(reading);
      }
    }
    return last;
  }
}
