package dev.tranche.webhook.review;

import static java.net.HttpURLConnection.HTTP_ENTITY_TOO_LARGE;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.summingInt;

import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.metrics.WebhookMetrics.Outcome;
import dev.tranche.webhook.pod.Mutation;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Reads request bodies, each within limits of time and size, all within a budget of memory. A body
 * counts by its buffer, which is at most twice what has arrived. So a client that announces much
 * and sends little costs others nothing. Where the budget is used up, the address that uses most of
 * it loses its largest body. A review that is not read to its end is denied by the uid of its
 * beginning, since an error would admit the pod where the failure policy is Ignore. Confined to one
 * event loop.
 */
public final class ReviewBodyReader {
  /** Larger ones are denied: etcd stores no object of 1.5 MiB. */
  public static final int BODY_BYTES_MAX = ReviewReader.BYTES_MAX;

  /** A fifth of the heap; to read and judge one of them takes less than another half. */
  public static final long BODIES_BYTES_MAX = 12L << 20;

  private static final int CODE_TOO_MANY = 429;

  private final Vertx vertx;
  private final long bodyMsMax;
  private final WebhookMetrics metrics;
  private final Set<Reading> readings = new HashSet<>();

  /** The size of all buffers; a gauge reads it. */
  private final AtomicLong bytes = new AtomicLong();

  /**
   * @param bodyMsMax from a request's head to the end of its body
   */
  public ReviewBodyReader(Vertx vertx, long bodyMsMax, WebhookMetrics metrics) {
    this.vertx = vertx;
    this.bodyMsMax = bodyMsMax;
    this.metrics = metrics;
    metrics.inFlight(bytes::get);
  }

  /**
   * @param request states the length of its body
   * @param onBody gets the body, unless the request is refused
   */
  void read(HttpServerRequest request, Consumer<byte[]> onBody) {
    var reading = new Reading(request, onBody);
    readings.add(reading);
    request.handler(reading::append);
    request.endHandler(end -> reading.end());
    request.exceptionHandler(lost -> reading.close());
    request.response().exceptionHandler(lost -> reading.close());
  }

  private void makeRoom() {
    while (bytes.get() > BODIES_BYTES_MAX) {
      String greediest =
          readings.stream()
              .collect(groupingBy(each -> each.address, summingInt(each -> each.body.length)))
              .entrySet()
              .stream()
              .max(Map.Entry.comparingByValue())
              .orElseThrow()
              .getKey();
      readings.stream()
          .filter(each -> each.address.equals(greediest))
          .max(Comparator.comparingInt(each -> each.body.length))
          .orElseThrow()
          .shed();
    }
  }

  static void refuse(HttpServerResponse response, int status, String reason) {
    if (!response.ended() && !response.closed()) {
      response.setStatusCode(status).putHeader("content-type", "text/plain").end(reason);
    }
  }

  /** A body that is being read. */
  private final class Reading {
    private final HttpServerRequest request;
    private final String address;
    private final Consumer<byte[]> onBody;
    private final boolean tooLarge;
    private final int bytesMax;
    private final long timer = vertx.setTimer(bodyMsMax, late -> timeOut());

    /** The bytes received so far, and free space after them. */
    private byte[] body = {};

    private int received;
    private boolean closed;

    Reading(HttpServerRequest request, Consumer<byte[]> onBody) {
      this.request = request;
      this.onBody = onBody;
      address = String.valueOf(request.connection().remoteAddress().hostAddress());
      String announced = request.getHeader("content-length");
      int length =
          announced == null || announced.length() > 9
              ? Integer.MAX_VALUE
              : Integer.parseInt(announced);
      tooLarge = length > BODY_BYTES_MAX;
      bytesMax = tooLarge ? ReviewReader.UID_WITHIN_BYTES : length;
    }

    void append(Buffer part) {
      if (closed) {
        return;
      }
      int added = Math.min(part.length(), bytesMax - received);
      int needed = received + added;
      if (needed > body.length) {
        resize(Math.min(bytesMax, 2 * needed));
      }
      part.getBytes(0, added, body, received);
      received = needed;
      if (tooLarge && received == bytesMax) {
        metrics.count(ReviewKind.of(request.path()), Outcome.MALFORMED);
        deny(
            HTTP_ENTITY_TOO_LARGE,
            "the API server's review of this pod is larger than %d bytes, so the guard cannot check it; make the pod smaller."
                .formatted(BODY_BYTES_MAX));
      }
      makeRoom();
    }

    private void resize(int length) {
      bytes.addAndGet(length - body.length);
      body = Arrays.copyOf(body, length);
    }

    void shed() {
      metrics.count(ReviewKind.of(request.path()), Outcome.SHED);
      deny(CODE_TOO_MANY, "too many large reviews are in flight; try again.");
    }

    private void deny(int code, String reason) {
      String uid = ReviewReader.uid(body);
      HttpServerResponse response = request.response();
      close();
      if (uid.isEmpty() || ReviewKind.of(request.path()) == ReviewKind.UPDATE) {
        // An update without an answer of ours goes on as it is.
        refuse(response, code, reason);
      } else if (!response.ended() && !response.closed()) {
        var denied = new Mutation.Denied(reason, WebhookMetrics.UNREADABLE);
        response
            .putHeader("content-type", "application/json")
            .end(AdmissionReview.answer(uid, Verdict.of(denied)));
      }
    }

    void end() {
      if (!closed) {
        resize(received);
        // The body stays in memory, and counts, until it is answered.
        try {
          onBody.accept(body);
        } finally {
          close();
        }
      }
    }

    private void timeOut() {
      close();
      metrics.count(ReviewKind.of(request.path()), Outcome.TIMED_OUT);
      request.response().reset();
    }

    void close() {
      if (!closed) {
        closed = true;
        vertx.cancelTimer(timer);
        readings.remove(this);
        resize(0);
      }
    }
  }
}
