package dev.tranche.extender.stream;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jetbrains.lincheck.Lincheck;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Reports are put on the stream's loop and applied on the loop that decides. Lincheck runs the two
 * in many orders, down to single reads and writes, and prints the one that fails. It takes an order
 * that lasts 30 s for a deadlock, so that a busy machine fails it.
 */
@Tag("search")
class ReportHandOverLincheckTest {
  private static final int ORDERS = 200;
  private static final String UUID = "GPU-0";

  /** The tasks of one loop. */
  private static final class Tasks {
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

    synchronized void add(Runnable task) {
      tasks.add(task);
    }

    private synchronized @Nullable Runnable poll() {
      return tasks.poll();
    }

    boolean runNext() {
      Runnable next = poll();
      if (next == null) {
        return false;
      }
      next.run();
      return true;
    }
  }

  private static NodeReport using(long bytes) {
    return NodeReport.newBuilder()
        .addGpus(Gpu.newBuilder().setUuid(UUID).setLoad(FakeNode.load(0, bytes)))
        .build();
  }

  private static final NodeReport FIRST = using(1);
  private static final NodeReport SECOND = using(2);

  @Test
  void newestReport_isAppliedLast_inWhicheverOrderTheLoopsRun() {
    Lincheck.runConcurrentTest(ORDERS, ReportHandOverLincheckTest::putWhileTheOtherIsApplied);
  }

  private static void putWhileTheOtherIsApplied() {
    var own = new Tasks();
    var deciding = new Tasks();
    List<Long> applied = new ArrayList<>();
    var latest =
        new LatestReport(
            "a",
            () -> 0,
            (report, readings) ->
                readings.values().forEach(reading -> applied.add(reading.memoryUsedBytes())),
            (node, report) -> {},
            deciding::add,
            own::add,
            () -> false);
    var stream =
        new Thread(
            () -> {
              latest.put(FIRST);
              own.runNext();
              latest.put(SECOND);
              own.runNext();
            });
    var loop =
        new Thread(
            () -> {
              deciding.runNext();
              deciding.runNext();
            });
    stream.start();
    loop.start();
    join(stream);
    join(loop);
    while (own.runNext() || deciding.runNext()) {
      // Until both are idle.
    }
    // AssertJ's assertions confuse Lincheck.
    if (applied.getLast() != 2) {
      throw new AssertionError("applied: " + applied);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
  }
}
