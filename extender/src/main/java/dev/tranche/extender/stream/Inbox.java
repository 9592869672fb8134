package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.verb.Core;
import dev.tranche.extender.verb.Loop;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The reports of one stream on their way to the Ledger; a newer one takes an older one's place. */
final class Inbox {
  private final String node;
  private final Core core;
  private final Loop loop;
  private final ReportListener others;
  private final AtomicReference<@Nullable Waiting> latest = new AtomicReference<>();
  private @Nullable NodeState before;

  Inbox(String node, Core core, Loop loop, ReportListener others) {
    this.node = node;
    this.core = core;
    this.loop = loop;
    this.others = others;
  }

  /**
   * @param brief of that whole one, or of one that the Ledger has heard
   */
  private record Waiting(@Nullable NodeReport whole, @Nullable NodeReport brief) {}

  void put(NodeReport report) {
    if (latest.getAndUpdate(waiting -> with(waiting, report)) == null) {
      loop.run(this::deliver);
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
      var reading = ReportReader.read(node, waiting.whole(), core.nowMs(), before);
      before = reading.report().state();
      core.reported(reading.report(), reading.readings());
      others.reported(node, waiting.whole());
    }
    if (waiting.brief() != null && before != null) {
      var readings = ReportReader.brief(waiting.brief(), core.nowMs(), before);
      core.reported(new Event.Reported(node, before), readings);
      others.reportedAgain(node);
    }
  }
}
