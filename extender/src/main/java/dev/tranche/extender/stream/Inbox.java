package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.verb.Core;
import dev.tranche.extender.verb.Loop;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** One report of one stream on its way to the Ledger; a newer one takes its place. */
final class Inbox {
  private final String node;
  private final Core core;
  private final Loop loop;
  private final BiConsumer<String, NodeReport> others;
  private final AtomicReference<@Nullable NodeReport> latest = new AtomicReference<>();
  private @Nullable NodeState before;

  Inbox(String node, Core core, Loop loop, BiConsumer<String, NodeReport> others) {
    this.node = node;
    this.core = core;
    this.loop = loop;
    this.others = others;
  }

  void put(NodeReport report) {
    if (latest.getAndSet(report) == null) {
      loop.run(this::deliver);
    }
  }

  private void deliver() {
    NodeReport report = latest.getAndSet(null);
    if (report != null) {
      var reading = ReportReader.read(node, report, core.nowMs(), before);
      before = reading.report().state();
      core.reported(reading.report(), reading.readings());
      others.accept(node, report);
    }
  }
}
