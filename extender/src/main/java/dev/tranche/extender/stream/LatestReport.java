package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.load.LoadReading;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Holds the latest report of one stream until it is delivered to the Ledger. A newer report
 * replaces an older one, also while a node that has caused too much work waits.
 */
final class LatestReport {
  private final String node;
  private final LongSupplier clockMs;
  private final BiConsumer<Event.Reported, Map<String, LoadReading>> ledger;
  private final ReportListener others;
  private final Executor loop;
  private final ReportWork work;
  private final Timer timer;
  private final AtomicReference<@Nullable Undelivered> latest = new AtomicReference<>();
  private @Nullable NodeState before;

  /**
   * @param ledger receives each report, and its readings by uuid
   * @param loop runs everything except {@link #put}
   * @param work of this node, on whichever stream
   * @param timer runs a task later, on the stream's loop, unless the stream has closed meanwhile
   */
  LatestReport(
      String node,
      LongSupplier clockMs,
      BiConsumer<Event.Reported, Map<String, LoadReading>> ledger,
      ReportListener others,
      Executor loop,
      ReportWork work,
      Timer timer) {
    this.node = node;
    this.clockMs = clockMs;
    this.ledger = ledger;
    this.others = others;
    this.loop = loop;
    this.work = work;
    this.timer = timer;
  }

  interface Timer {
    void after(long ms, Runnable task);
  }

  /**
   * @param brief refers to {@code whole}, or to a whole report that has been delivered
   */
  private record Undelivered(@Nullable Received whole, @Nullable Received brief) {}

  private record Received(NodeReport report, long atMs) {
    OptionalLong listAgeMs(long nowMs) {
      return ReportReader.listAgeMs(report, nowMs - atMs);
    }
  }

  void put(NodeReport report) {
    var received = new Received(report, clockMs.getAsLong());
    if (latest.getAndUpdate(undelivered -> with(undelivered, received)) != null) {
      return;
    }
    long delayMs = work.delayMs(received.atMs());
    if (delayMs > 0) {
      timer.after(delayMs, () -> loop.execute(this::deliver));
    } else {
      loop.execute(this::deliver);
    }
  }

  private static Undelivered with(@Nullable Undelivered undelivered, Received received) {
    return received.report().getReadingsCount() == 0
        ? new Undelivered(received, null)
        : new Undelivered(undelivered == null ? null : undelivered.whole(), received);
  }

  private void deliver() {
    Undelivered undelivered = latest.getAndSet(null);
    if (undelivered == null) {
      return;
    }
    long nowMs = clockMs.getAsLong();
    Received whole = undelivered.whole();
    Received brief = undelivered.brief();
    if (whole != null) {
      work.take(whole.report(), nowMs);
      var reading = ReportReader.read(node, whole.report(), nowMs, before);
      before = reading.report().state();
      var report = new Event.Reported(node, before, whole.listAgeMs(nowMs));
      ledger.accept(report, reading.readings());
      others.reported(node, whole.report());
    }
    if (brief != null && before != null) {
      work.take(brief.report(), nowMs);
      var readings = ReportReader.brief(brief.report(), nowMs, before);
      ledger.accept(new Event.Reported(node, before, brief.listAgeMs(nowMs)), readings);
      others.reportedAgain(node);
    }
  }
}
