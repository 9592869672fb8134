package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.load.LoadReading;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The path of a report from a stream to the Ledger, without gRPC: a newer one replaces it, and it
 * is converted as in {@link StreamServer}.
 */
public final class SimulatedStreams {
  private final LongSupplier clockMs;
  private final BiConsumer<Event.Reported, Map<String, LoadReading>> applier;
  private final Executor loop;

  public SimulatedStreams(
      LongSupplier clockMs,
      BiConsumer<Event.Reported, Map<String, LoadReading>> applier,
      Executor loop) {
    this.clockMs = clockMs;
    this.applier = applier;
    this.loop = loop;
  }

  /**
   * Opens a stream of a node.
   *
   * @return takes its reports
   */
  public Consumer<NodeReport> open(String node, BooleanSupplier closed) {
    var latest =
        new LatestReport(node, clockMs, applier, (name, whole) -> {}, loop, Runnable::run, closed);
    return latest::put;
  }

  public static NodeDirective.Builder assign(Assignment assignment) {
    return Directives.assign(assignment);
  }

  public static NodeDirective.Builder retract(String uid) {
    return Directives.retract(uid);
  }
}
