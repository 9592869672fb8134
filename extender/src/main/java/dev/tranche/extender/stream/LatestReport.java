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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds the latest report of one stream until it is delivered to the Ledger. A newer report
 * replaces an older one while the last delivery is under way. Reports are converted on the stream's
 * own loop.
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
  private final AtomicReference<@Nullable Undelivered> latest = new AtomicReference<>();

  /** Whether a delivery is scheduled or under way: reports never queue up behind a slow loop. */
  private final AtomicBoolean busy = new AtomicBoolean();

  private @Nullable NodeState before;

  /**
   * @param applier receives each report, and its readings by uuid
   * @param others are told of each whole report after it
   * @param loop runs deliveries
   * @param own runs a task on the stream's loop
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
   * @param brief refers to {@code whole}, or to a whole report that has been delivered
   */
  private record Undelivered(@Nullable Received whole, @Nullable Received brief) {}

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
    latest.updateAndGet(undelivered -> with(undelivered, received));
    if (busy.compareAndSet(false, true)) {
      schedule();
    }
  }

  /** A report that is applied after its stream's loss would make the node look alive. */
  private void schedule() {
    if (closed.getAsBoolean()) {
      return;
    }
    try {
      List<Delivery> deliveries = read(latest.getAndSet(null));
      loop.execute(() -> deliver(deliveries));
    } catch (RuntimeException bug) {
      LOG.error("cannot read a report of node {}", node, bug);
      busy.set(false);
    }
  }

  private static Undelivered with(@Nullable Undelivered undelivered, Received received) {
    return received.isWhole()
        ? new Undelivered(received, null)
        : new Undelivered(undelivered == null ? null : undelivered.whole(), received);
  }

  /** Converts the reports here, since that takes longer than to apply them. */
  private List<Delivery> read(@Nullable Undelivered undelivered) {
    var deliveries = new ArrayList<Delivery>(2);
    Received whole = undelivered == null ? null : undelivered.whole();
    Received brief = undelivered == null ? null : undelivered.brief();
    long nowMs = clockMs.getAsLong();
    if (whole != null) {
      var reading = ReportReader.read(node, whole.report(), nowMs, before);
      before = reading.report().state();
      deliveries.add(new Delivery(whole, before, reading.readings()));
    }
    if (brief != null && before != null) {
      var readings = ReportReader.brief(brief.report(), nowMs, before);
      deliveries.add(new Delivery(brief, before, readings));
    }
    return deliveries;
  }

  private void deliver(List<Delivery> deliveries) {
    try {
      deliveries.forEach(this::deliver);
    } finally {
      busy.set(false);
      if (latest.get() != null && busy.compareAndSet(false, true)) {
        own.execute(this::schedule);
      }
    }
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
