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
  private record Waiting(@Nullable Received whole, @Nullable Received brief) {}

  private record Received(NodeReport report, long atMs) {
    OptionalLong listAgeMs(long nowMs) {
      return ReportReader.listAgeMs(report, nowMs - atMs);
    }
  }

  void put(NodeReport report) {
    var received = new Received(report, clockMs.getAsLong());
    if (latest.getAndUpdate(waiting -> with(waiting, received)) == null) {
      loop.execute(this::deliver);
    }
  }

  private static Waiting with(@Nullable Waiting waiting, Received received) {
    return received.report().getReadingsCount() == 0
        ? new Waiting(received, null)
        : new Waiting(waiting == null ? null : waiting.whole(), received);
  }

  private void deliver() {
    Waiting waiting = latest.getAndSet(null);
    if (waiting == null) {
      return;
    }
    long nowMs = clockMs.getAsLong();
    Received whole = waiting.whole();
    Received brief = waiting.brief();
    if (whole != null) {
      var reading = ReportReader.read(node, whole.report(), nowMs, before);
      before = reading.report().state();
      var report = new Event.Reported(node, before, whole.listAgeMs(nowMs));
      ledger.accept(report, reading.readings());
      others.reported(node, whole.report());
    }
    if (brief != null && before != null) {
      var readings = ReportReader.brief(brief.report(), nowMs, before);
      ledger.accept(new Event.Reported(node, before, brief.listAgeMs(nowMs)), readings);
      others.reportedAgain(node);
    }
  }
}
