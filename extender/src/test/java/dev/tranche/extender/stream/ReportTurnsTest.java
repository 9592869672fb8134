package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Thousands of nodes, each within its own bound, and the loop that decides. */
final class ReportTurnsTest {
  private static final int NODES = 5_000;
  private static final int LARGE = 10_000;
  private static final int SMALL = 100;

  private final TreeMap<Long, List<Runnable>> timers = new TreeMap<>();
  private final ArrayDeque<Reporter> loop = new ArrayDeque<>();
  private final List<Reporter> nodes = new ArrayList<>();
  private long nowMs;
  private int delayed;
  private final ReportTurns turns =
      new ReportTurns(
          () -> nowMs,
          Runnable::run,
          (ms, task) -> timers.computeIfAbsent(nowMs + ms, at -> new ArrayList<>()).add(task),
          () -> delayed++);

  /** A node that always has another report. */
  private final class Reporter implements ReportTurns.Turn {
    final ReportWork work = new ReportWork(nowMs);
    final int units;
    boolean reportsAgain = true;
    int applied;
    int replaced;
    boolean closed;

    Reporter(int units) {
      this.units = units;
      nodes.add(this);
    }

    void report() {
      turns.enter(work, this);
    }

    @Override
    public int units() {
      return units;
    }

    @Override
    public int handOver() {
      work.takeUnits(units, nowMs);
      loop.add(this);
      return units;
    }

    @Override
    public void replaced() {
      replaced++;
    }

    @Override
    public boolean closed() {
      return closed;
    }
  }

  /** Lets time pass, and the loop apply at once what it is given. */
  private void runUntil(long endMs) {
    apply();
    while (!timers.isEmpty() && timers.firstKey() <= endMs) {
      Map.Entry<Long, List<Runnable>> due = timers.pollFirstEntry();
      nowMs = due.getKey();
      due.getValue().forEach(Runnable::run);
      apply();
    }
    nowMs = endMs;
  }

  private void apply() {
    while (!loop.isEmpty()) {
      int atOnce = loop.stream().mapToInt(Reporter::units).sum();
      assertThat(atOnce).isLessThan(ReportTurns.UNITS_AT_ONCE + LARGE);
      Reporter next = loop.remove();
      next.applied++;
      turns.applied(next.units);
      if (next.reportsAgain) {
        next.report();
      }
    }
  }

  @Test
  void allNodesTogether_causeNoMoreThanTheTotal_andEachHasItsTurn() {
    for (int i = 0; i < NODES; i++) {
      new Reporter(LARGE);
    }
    nodes.forEach(Reporter::report);
    runUntil(200_000);
    long units = nodes.stream().mapToLong(node -> (long) node.applied * LARGE).sum();
    assertThat(units).isBetween(99_000_000L, 100_200_000L);
    // Some have a third one, of the burst.
    assertThat(nodes).allMatch(node -> node.applied == 2 || node.applied == 3);
    assertThat(turns.waiting()).isEqualTo(NODES);
    assertThat(delayed).isPositive();
  }

  /** The honest one comes last, behind a queue of 100 s, and reports once a second. */
  @Test
  void nodeWithLittleWork_doesNotWaitForThoseWithMuch() {
    for (int i = 0; i < NODES; i++) {
      new Reporter(LARGE).report();
    }
    runUntil(5_000);
    var honest = new Reporter(SMALL);
    honest.reportsAgain = false;
    for (long second = 5; second < 50; second++) {
      int before = honest.applied;
      honest.report();
      runUntil(second * 1_000 + 100);
      assertThat(honest.applied).isEqualTo(before + 1);
      runUntil((second + 1) * 1_000);
    }
    List<Reporter> hostile = nodes.subList(0, NODES);
    assertThat(hostile).allMatch(node -> node.applied <= 1);
    assertThat(hostile).filteredOn(node -> node.applied == 1).hasSizeGreaterThan(2_000);
  }

  @Test
  void fewNodes_doNotWait() {
    for (int i = 0; i < 50; i++) {
      new Reporter(SMALL).report();
    }
    assertThat(loop).hasSize(50).containsExactlyElementsOf(nodes);
    assertThat(turns.waiting()).isZero();
    assertThat(delayed).isZero();
  }

  @Test
  void nodesNewerStream_takesThePlaceOfItsOlderOne_andAClosedOneHasNoTurn() {
    new Reporter(2 * LARGE).report();
    var older = new Reporter(SMALL);
    older.report();
    var newer = new Reporter(SMALL);
    turns.enter(older.work, newer);
    assertThat(turns.waiting()).isEqualTo(1);
    assertThat(older.replaced).isEqualTo(1);
    var closed = new Reporter(SMALL);
    closed.report();
    closed.closed = true;
    loop.clear();
    turns.applied(2 * LARGE);
    assertThat(loop).containsExactly(newer);
    assertThat(turns.waiting()).isZero();
  }
}
