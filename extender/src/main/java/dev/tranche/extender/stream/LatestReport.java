package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.load.LoadReading;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds the latest report of one stream until it is delivered to the Ledger. A newer report
 * replaces an older one while the last delivery is under way. Reports are converted on the stream's
 * own loop; all but a delivery is confined to it.
 */
final class LatestReport {
  private static final Logger LOG = LoggerFactory.getLogger(LatestReport.class);

  private final String node;
  private final LongSupplier clockMs;
  private final BiConsumer<Event.Reported, Map<String, LoadReading>> applier;
  private final BiConsumer<String, NodeReport> others;
  private final Executor loop;
  private final Executor own;
  private final BooleanSupplier closed;
  private @Nullable Received whole;

  /** Refers to {@link #whole}, or to a whole report that has been delivered. */
  private @Nullable Received brief;

  /** Whether a delivery is under way: reports never queue up behind a slow loop. */
  private boolean busy;

  private @Nullable NodeState before;

  /**
   * @param applier receives each report, and its readings by uuid
   * @param others are told of each whole report after it
   * @param loop runs deliveries
   * @param own runs a task on the stream's loop, when the next delivery may begin
   * @param closed whether the stream has closed; read on its loop
   */
  LatestReport(
      String node,
      LongSupplier clockMs,
      BiConsumer<Event.Reported, Map<String, LoadReading>> applier,
      BiConsumer<String, NodeReport> others,
      Executor loop,
      Executor own,
      BooleanSupplier closed) {
    this.node = node;
    this.clockMs = clockMs;
    this.applier = applier;
    this.others = others;
    this.loop = loop;
    this.own = own;
    this.closed = closed;
  }

  /**
   * @param state of the whole report that it is, or refers to
   * @param readings by uuid
   */
  private record Delivery(Received received, NodeState state, Map<String, LoadReading> readings) {}

  private record Received(NodeReport report, long atMs) {
    boolean isWhole() {
      return report.getReadingsCount() == 0;
    }

    OptionalLong listAgeMs(long nowMs) {
      return ReportReader.listAgeMs(report, nowMs - atMs);
    }
  }

  void put(NodeReport report) {
    var received = new Received(report, clockMs.getAsLong());
    if (received.isWhole()) {
      whole = received;
      brief = null;
    } else {
      brief = received;
    }
    schedule();
  }

  /** A report that is applied after its stream's loss would make the node look alive. */
  private void schedule() {
    if (busy || closed.getAsBoolean()) {
      return;
    }
    try {
      List<Delivery> deliveries = read();
      if (!deliveries.isEmpty()) {
        busy = true;
        loop.execute(() -> deliver(deliveries));
      }
    } catch (RuntimeException bug) {
      LOG.error("cannot read a report of node {}", node, bug);
    }
  }

  /** Converts the reports here, since that takes longer than to apply them. */
  private List<Delivery> read() {
    var deliveries = new ArrayList<Delivery>(2);
    Received lastWhole = whole;
    Received lastBrief = brief;
    whole = null;
    brief = null;
    long nowMs = clockMs.getAsLong();
    if (lastWhole != null) {
      var reading = ReportReader.read(node, lastWhole.report(), nowMs, before);
      before = reading.report().state();
      deliveries.add(new Delivery(lastWhole, before, reading.readings()));
    }
    if (lastBrief != null && before != null) {
      var readings = ReportReader.brief(lastBrief.report(), nowMs, before);
      deliveries.add(new Delivery(lastBrief, before, readings));
    }
    return deliveries;
  }

  private void deliver(List<Delivery> deliveries) {
    try {
      deliveries.forEach(this::deliver);
    } finally {
      own.execute(this::delivered);
    }
  }

  private void delivered() {
    busy = false;
    schedule();
  }

  private void deliver(Delivery delivery) {
    Received received = delivery.received();
    OptionalLong listAgeMs = received.listAgeMs(clockMs.getAsLong());
    applier.accept(new Event.Reported(node, delivery.state(), listAgeMs), delivery.readings());
    if (received.isWhole()) {
      others.accept(node, received.report());
    }
  }
}
