package dev.tranche.webhook.review;

import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.metrics.WebhookMetrics.Outcome;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Reads request bodies. Each has limits of time and size, and all share a memory budget. A body is
 * charged for its buffer, which is at most twice what has arrived. A client that announces much and
 * sends little thus costs others nothing. A review that does not fit is denied with the uid from
 * its beginning. An error would admit the pod where the failure policy is Ignore. If memory runs
 * out, the largest review is denied. Confined to one event loop.
 */
public final class ReviewBodyReader {
  /** Larger ones are denied: etcd stores no object of 1.5 MiB. */
  public static final long BODY_BYTES_MAX = ReviewReader.BYTES_MAX;

  /** An API server sends many reviews at once. */
  private static final long ADDRESS_BYTES_MAX = 4L << 20;

  private static final long FIRST_BYTES_MAX = 64L << 10;

  /** A fifth of the heap; to read and judge one of them takes less than another half. */
  public static final long BODIES_BYTES_MAX = 12L << 20;

  private static final byte[] NOTHING = {};
  private static final Buffer EMPTY = Buffer.buffer();
  private static final int CODE_TOO_LARGE = 413;
  private static final int CODE_TOO_MANY = 429;
  private final long bodyMsMax;
  private final WebhookMetrics metrics;
  private final BodyBudget budget = new BodyBudget(BODIES_BYTES_MAX, ADDRESS_BYTES_MAX);

  /** Oldest first. */
  private final Set<Reading> readings = new LinkedHashSet<>();

  /**
   * @param bodyMsMax from a request's head to the end of its body
   */
  ReviewBodyReader(long bodyMsMax, WebhookMetrics metrics) {
    this.bodyMsMax = bodyMsMax;
    this.metrics = metrics;
    metrics.inFlight(budget::bytes);
  }

  /**
   * @param onBody gets the body, unless the request is refused
   */
  void read(HttpServerRequest request, long nowMs, Consumer<byte[]> onBody) {
    var reading = new Reading(request, nowMs, onBody);
    readings.add(reading);
    request.handler(reading::append);
    request.endHandler(end -> reading.end());
    request.exceptionHandler(lost -> reading.close());
    request.response().exceptionHandler(lost -> reading.close());
  }

  /** Aborts the readings that have exceeded their time limit. */
  void sweep(long nowMs) {
    while (!readings.isEmpty()) {
      Reading oldest = readings.iterator().next();
      if (nowMs - oldest.startMs < bodyMsMax) {
        return;
      }
      oldest.timeOut();
    }
  }

  /**
   * Charges the budget for a reading. Denies the largest bodies until the charge fits.
   *
   * @return whether the reading may go on
   */
  private boolean charge(Reading reading, int addedBytes) {
    while (!reading.closed) {
      switch (budget.charge(reading.address, addedBytes)) {
        case CHARGED -> {
          return true;
        }
        case ADDRESS_FULL -> largest(reading, reading.address).denyForMemory();
        case FULL -> largest(reading, "").denyForMemory();
      }
    }
    return false;
  }

  /**
   * @param address the client's address; empty for any
   */
  private Reading largest(Reading incoming, String address) {
    Reading largest = incoming;
    for (Reading other : readings) {
      if ((address.isEmpty() || address.equals(other.address))
          && other.body.length > largest.body.length) {
        largest = other;
      }
    }
    return largest;
  }

  static void refuse(HttpServerResponse response, int status, String reason) {
    if (!response.ended() && !response.closed()) {
      response.setStatusCode(status).putHeader("content-type", "text/plain").end(reason);
    }
  }

  /** Returns the request's Content-Length, or 0 if it has none. */
  private static long announcedBytes(HttpServerRequest request) {
    String length = request.getHeader("content-length");
    if (length == null || length.isEmpty()) {
      return 0;
    }
    return length.length() > 9 ? Long.MAX_VALUE : Long.parseLong(length);
  }

  /**
   * Returns the new size of a buffer, at most twice the bytes needed. A peer that announces much
   * and sends little, or sends many small parts, thus costs only in proportion to its bytes.
   *
   * @param announcedBytes the announced length; 0 if unknown
   */
  static int capacity(int neededBytes, long announcedBytes) {
    long most = announcedBytes < neededBytes ? BODY_BYTES_MAX : announcedBytes;
    return (int) Math.max(neededBytes, Math.min(2L * neededBytes, most));
  }

  /** A body that is being read. */
  private final class Reading {
    private final HttpServerRequest request;
    private final String address;
    private final long startMs;
    private final long announcedBytes;
    private final long bytesMax;
    private final Consumer<byte[]> onBody;

    /** The bytes received so far, and free space after them. */
    private byte[] body = NOTHING;

    /** The part that has just arrived, until it is in the body. */
    private Buffer latest = EMPTY;

    private int bytes;
    private boolean closed;

    Reading(HttpServerRequest request, long startMs, Consumer<byte[]> onBody) {
      this.request = request;
      address = String.valueOf(request.connection().remoteAddress().hostAddress());
      // Of a body that is too large, only the uid is needed.
      announcedBytes = announcedBytes(request);
      bytesMax = announcedBytes > BODY_BYTES_MAX ? FIRST_BYTES_MAX : BODY_BYTES_MAX;
      this.startMs = startMs;
      this.onBody = onBody;
    }

    void append(Buffer part) {
      if (closed) {
        return;
      }
      latest = part;
      int needed = bytes + part.length();
      if (needed > bytesMax) {
        tooLarge();
      } else if (needed <= body.length || grow(needed)) {
        part.getBytes(body, bytes);
        bytes = needed;
        latest = EMPTY;
      }
    }

    private boolean grow(int neededBytes) {
      int capacity = capacity(neededBytes, announcedBytes);
      if (!charge(this, capacity - body.length)) {
        return false;
      }
      body = Arrays.copyOf(body, capacity);
      return true;
    }

    private void tooLarge() {
      metrics.count(ReviewKind.of(request.path()), Outcome.MALFORMED);
      deny(
          CODE_TOO_LARGE,
          "the API server's review of this pod is larger than %d bytes, so the guard cannot check it; make the pod smaller."
              .formatted(BODY_BYTES_MAX));
    }

    void denyForMemory() {
      metrics.count(ReviewKind.of(request.path()), Outcome.SHED);
      deny(CODE_TOO_MANY, "too many large reviews are in flight; try again.");
    }

    private void deny(int code, String reason) {
      String uid = ReviewReader.uid(beginning());
      HttpServerResponse response = request.response();
      close();
      if (uid.isEmpty() || ReviewKind.of(request.path()) == ReviewKind.UPDATE) {
        // An update without an answer of ours goes on as it is.
        refuse(response, code, reason);
      } else if (!response.ended() && !response.closed()) {
        response
            .putHeader("content-type", "application/json")
            .end(Buffer.buffer(AdmissionReview.denial(uid, reason)));
      }
    }

    /** Returns the first bytes received, including the latest part, which may not have fitted. */
    private byte[] beginning() {
      int fromBody = (int) Math.min(FIRST_BYTES_MAX, bytes);
      int fromLatest = (int) Math.min(FIRST_BYTES_MAX - fromBody, latest.length());
      byte[] beginning = Arrays.copyOf(body, fromBody + fromLatest);
      latest.getBytes(0, fromLatest, beginning, fromBody);
      return beginning;
    }

    void end() {
      if (!closed) {
        byte[] read = bytes == body.length ? body : Arrays.copyOf(body, bytes);
        // The budget is released after the review, since the body stays in memory until then.
        body = read.length == body.length ? body : shrink(read);
        try {
          onBody.accept(read);
        } finally {
          close();
        }
      }
    }

    private byte[] shrink(byte[] read) {
      budget.release(address, body.length - read.length);
      return read;
    }

    void timeOut() {
      close();
      metrics.count(ReviewKind.of(request.path()), Outcome.TIMED_OUT);
      request.response().reset();
    }

    void close() {
      if (!closed) {
        closed = true;
        readings.remove(this);
        budget.release(address, body.length);
        body = NOTHING;
        latest = EMPTY;
      }
    }
  }
}
