package dev.tranche.webhook;

import dev.tranche.webhook.WebhookMetrics.Outcome;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads bodies, each within a time and a size and all within a budget that is charged by what has
 * come in, so that announcing much and sending little costs nobody else. Of one event loop.
 */
final class Intake {
  /** The API server's own limit of a request is 3 MiB. */
  static final long BODY_BYTES_MAX = 3L << 20;

  private static final long FIRST_BYTES_MAX = 64L << 10;
  private static final long BODIES_BYTES_MAX = 16L << 20;
  private final long bodyMsMax;
  private final WebhookMetrics metrics;
  private final BodyBudget budget = new BodyBudget(BODIES_BYTES_MAX);

  /** Oldest first. */
  private final Set<Reading> readings = new LinkedHashSet<>();

  /**
   * @param bodyMsMax from a request's head to the end of its body
   */
  Intake(long bodyMsMax, WebhookMetrics metrics) {
    this.bodyMsMax = bodyMsMax;
    this.metrics = metrics;
    metrics.inFlight(budget, BodyBudget::bytes);
  }

  /**
   * @param whole gets the body, unless the request is refused
   */
  void read(HttpServerRequest request, long nowMs, Consumer<byte[]> whole) {
    if (announcedBytes(request) > BODY_BYTES_MAX) {
      tooLarge(request.response());
      return;
    }
    var reading = new Reading(request, nowMs, whole);
    readings.add(reading);
    request.handler(reading::more);
    request.endHandler(end -> reading.end());
    request.exceptionHandler(lost -> reading.close());
    request.response().exceptionHandler(lost -> reading.close());
  }

  /** Ends those whose time is over. */
  void sweep(long nowMs) {
    while (!readings.isEmpty()) {
      Reading oldest = readings.iterator().next();
      if (nowMs - oldest.startMs < bodyMsMax) {
        return;
      }
      oldest.late();
    }
  }

  private void tooLarge(HttpServerResponse response) {
    metrics.count(Outcome.MALFORMED);
    refuse(response, 413, "the body is larger than " + BODY_BYTES_MAX + " bytes");
  }

  static void refuse(HttpServerResponse response, int status, String reason) {
    if (!response.ended() && !response.closed()) {
      response.setStatusCode(status).putHeader("content-type", "text/plain").end(reason);
    }
  }

  /** 0 where the request does not say. */
  private static long announcedBytes(HttpServerRequest request) {
    String length = request.getHeader("content-length");
    if (length == null || length.isEmpty()) {
      return 0;
    }
    return length.length() > 9 ? Long.MAX_VALUE : Long.parseLong(length);
  }

  /** One body on its way. */
  private final class Reading {
    private final HttpServerRequest request;
    private final long startMs;
    private final Consumer<byte[]> whole;
    private @Nullable Buffer body;
    private long bytes;
    private boolean closed;

    Reading(HttpServerRequest request, long startMs, Consumer<byte[]> whole) {
      this.request = request;
      this.startMs = startMs;
      this.whole = whole;
    }

    void more(Buffer part) {
      if (closed) {
        return;
      }
      if (bytes + part.length() > BODY_BYTES_MAX) {
        close();
        tooLarge(request.response());
      } else if (!budget.take(part.length())) {
        close();
        metrics.count(Outcome.SHED);
        refuse(request.response(), 503, "too many reviews are in flight; try again");
      } else {
        bytes += part.length();
        if (body == null) {
          // No more ahead of its coming than a usual review needs.
          long ahead = Math.min(announcedBytes(request), FIRST_BYTES_MAX);
          body = Buffer.buffer((int) Math.max(part.length(), ahead));
        }
        body.appendBuffer(part);
      }
    }

    void end() {
      if (!closed) {
        byte[] read = body == null ? new byte[0] : body.getBytes();
        close();
        whole.accept(read);
      }
    }

    void late() {
      close();
      metrics.count(Outcome.TIMED_OUT);
      request.response().reset();
    }

    void close() {
      if (!closed) {
        closed = true;
        body = null;
        readings.remove(this);
        budget.giveBack(bytes);
      }
    }
  }
}
