package dev.tranche.extender.verb;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The CPU times of turns by their kind, and what the heap holds. */
abstract class TurnTimes {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  final Map<String, List<Long>> turnsNs = new LinkedHashMap<>();

  final void run(String kind, Runnable work) {
    turn(
        kind,
        () -> {
          work.run();
          return true;
        });
  }

  final <T> T turn(String kind, Supplier<T> work) {
    long before = THREADS.getCurrentThreadCpuTime();
    T result = work.get();
    long ns = THREADS.getCurrentThreadCpuTime() - before;
    turnsNs.computeIfAbsent(kind, first -> new ArrayList<>()).add(ns);
    return result;
  }

  static long used() {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 3; i++) {
      System.gc();
      least =
          Math.min(least, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
    }
    return least;
  }

  static void heap(String what) {
    System.out.printf(
        "heap, %s: %,d MiB of %,d%n", what, used() >> 20, Runtime.getRuntime().maxMemory() >> 20);
  }

  final void print() {
    System.out.println("| turn | count | median ms | p99 ms | longest ms |");
    System.out.println("|---|---|---|---|---|");
    turnsNs.forEach(
        (kind, all) -> {
          Collections.sort(all);
          System.out.printf(
              "| %s | %,d | %.2f | %.2f | %.2f |%n",
              kind,
              all.size(),
              all.get(all.size() / 2) / 1e6,
              all.get(all.size() * 99 / 100) / 1e6,
              all.getLast() / 1e6);
        });
  }
}
