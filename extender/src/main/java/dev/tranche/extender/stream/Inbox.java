package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.load.LoadReading;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The reports of one stream on their way to the Ledger; a newer one takes an older one's place. */
final class Inbox {
  private final String node;
  private final LongSupplier clockMs;
  private final BiConsumer<Event.Reported, Map<String, LoadReading>> ledger;
  private final ReportListener others;
  private final Executor loop;
  private final AtomicReference<@Nullable Waiting> latest = new AtomicReference<>();
  private @Nullable NodeState before;

  /**
   * @param ledger told of each report, and of its readings by uuid
   * @param loop on which all but {@link #put} happens
   */
  Inbox(
      String node,
      LongSupplier clockMs,
      BiConsumer<Event.Reported, Map<String, LoadReading>> ledger,
      ReportListener others,
      Executor loop) {
    this.node = node;
    this.clockMs = clockMs;
    this.ledger = ledger;
    this.others = others;
    this.loop = loop;
  }

  /**
   * @param brief of that whole one, or of one that the Ledger has heard
   */
  private record Waiting(@Nullable NodeReport whole, @Nullable NodeReport brief) {}

  void put(NodeReport report) {
    if (latest.getAndUpdate(waiting -> with(waiting, report)) == null) {
      loop.execute(this::deliver);
    }
  }

  private static Waiting with(@Nullable Waiting waiting, NodeReport report) {
    return report.getReadingsCount() == 0
        ? new Waiting(report, null)
        : new Waiting(waiting == null ? null : waiting.whole(), report);
  }

  private void deliver() {
    Waiting waiting = latest.getAndSet(null);
    if (waiting == null) {
      return;
    }
    if (waiting.whole() != null) {
      var reading = ReportReader.read(node, waiting.whole(), clockMs.getAsLong(), before);
      before = reading.report().state();
      ledger.accept(reading.report(), reading.readings());
      others.reported(node, waiting.whole());
    }
    if (waiting.brief() != null && before != null) {
      var readings = ReportReader.brief(waiting.brief(), clockMs.getAsLong(), before);
      ledger.accept(new Event.Reported(node, before), readings);
      others.reportedAgain(node);
    }
  }
}
