package dev.tranche.process;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** What a test takes of this JVM's memory. */
public final class Heap {
  private Heap() {}

  /** Returns what is reachable, as far as collections find out. */
  public static long usedBytes() {
    var runtime = Runtime.getRuntime();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 4; i++) {
      System.gc();
      least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
    }
    return least;
  }

  /** Returns what this thread has allocated since it began. */
  public static long allocatedBytes() {
    return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
  }
}
