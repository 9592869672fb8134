package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcServerResponse;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One open stream of one node. All but {@link #send} runs on the stream's own event loop. */
final class NodeStream {
  private static final Logger LOG = LoggerFactory.getLogger(NodeStream.class);

  /**
   * The most directives without an acknowledgement; a node that leaves more has stopped reading.
   */
  private static final int UNACKNOWLEDGED_MAX = 1_024;

  final String node;
  private final Vertx vertx;
  private final Context context;
  private final GrpcServerResponse<NodeReport, NodeDirective> response;
  private final Map<Long, Promise<Void>> unacknowledged = new HashMap<>();
  private long sequence;
  private long lastReportMs;
  private int gpus;

  private boolean closed;

  /** Directives that are written and not sent, since the node does not take them. */
  private int unsent;

  private final Runnable onClosed;

  NodeStream(
      String node,
      Vertx vertx,
      GrpcServerResponse<NodeReport, NodeDirective> response,
      Runnable onClosed,
      long nowMs) {
    this.onClosed = onClosed;
    this.node = node;
    this.vertx = vertx;
    this.context = vertx.getOrCreateContext();
    this.response = response;
    this.lastReportMs = nowMs;
  }

  void reported(NodeReport report, long nowMs) {
    lastReportMs = nowMs;
    if (report.getReadingsCount() == 0) {
      gpus = report.getGpusCount();
    }
    unacknowledged
        .entrySet()
        .removeIf(
            directive -> {
              boolean applied = directive.getKey() <= report.getAppliedDirective();
              if (applied) {
                directive.getValue().tryComplete();
              }
              return applied;
            });
  }

  /** Returns why a brief report doesn't match the last whole one, as a sentence. */
  Optional<String> briefMismatch(NodeReport brief) {
    return brief.getReadingsCount() == gpus
        ? Optional.empty()
        : Optional.of(
            "a brief report has %d readings; the last whole one of its stream had %d GPUs"
                .formatted(brief.getReadingsCount(), gpus));
  }

  boolean closed() {
    return closed;
  }

  boolean silentSince(long deadlineMs) {
    return lastReportMs < deadlineMs;
  }

  /**
   * Sends a directive; may be called on any thread.
   *
   * @return completes when the node has applied the directive
   */
  Future<Void> send(NodeDirective.Builder directive, long ackWithinMs) {
    Promise<Void> applied = Promise.promise();
    context.runOnContext(ignored -> write(directive, applied, ackWithinMs));
    return applied.future();
  }

  private void write(NodeDirective.Builder directive, Promise<Void> applied, long ackWithinMs) {
    if (closed) {
      applied.fail("its stream has closed");
      return;
    }
    if (unacknowledged.size() >= UNACKNOWLEDGED_MAX) {
      applied.fail(UNACKNOWLEDGED_MAX + " directives wait for it already");
      return;
    }
    long number = ++sequence;
    unacknowledged.put(number, applied);
    vertx.setTimer(
        ackWithinMs,
        late -> {
          if (applied.tryFail("no answer within " + ackWithinMs + " ms")) {
            unacknowledged.remove(number);
          }
        });
    try {
      Future<Void> sent = response.write(directive.setSequence(number).build());
      unsent++;
      sent.onComplete(done -> unsent--).onFailure(lost -> applied.tryFail("its stream was lost"));
    } catch (IllegalStateException cancelled) {
      // A peer's cancel makes write throw.
      applied.tryFail("its stream was cancelled");
    }
  }

  /** Ends the call; further calls have no effect. */
  void close(GrpcStatus status, String why) {
    if (!closed) {
      closed = true;
      unacknowledged.values().forEach(p -> p.tryFail("its stream has closed: " + why));
      unacknowledged.clear();
      if (unsent == 0) {
        end(response, status, why);
      } else {
        // The end would wait behind them, and Vert.x fails on it when the connection closes.
        response.cancel();
      }
      onClosed.run();
    }
  }

  /** Ends a call with a status, whatever state it is in. */
  static void end(GrpcServerResponse<?, ?> response, GrpcStatus status, String why) {
    try {
      response
          .status(status)
          .statusMessage(why)
          .end()
          .onFailure(gone -> LOG.debug("a stream was gone before its end: {}", why));
    } catch (IllegalStateException cancelled) {
      LOG.debug("a stream was cancelled before its end: {}", why);
    }
  }

  void closeFromElsewhere(GrpcStatus status, String why) {
    context.runOnContext(ignored -> close(status, why));
  }
}
