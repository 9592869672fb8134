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
 * Reads bodies, each within a time and a size and all within a budget that is charged by the room
 * they take. That is at most twice what has come in, so announcing much and sending little costs
 * nobody else. A review that does not fit is denied by the uid at its beginning. An error would let
 * the pod pass wherever the failure policy is to ignore. Where memory runs out, the largest review
 * is denied. Of one event loop.
 */
public final class ReviewBodyReader {
  /**
   * The API server takes requests up to 3 MiB, but its review of one may be larger: escaped, a
   * {@code <} is six bytes.
   */
  static final long BODY_BYTES_MAX = 4L << 20;

  private static final long FIRST_BYTES_MAX = 64L << 10;

  /** A quarter of the heap; to read and judge one of them takes less than another quarter. */
  public static final long BODIES_BYTES_MAX = 12L << 20;

  private static final byte[] NOTHING = {};
  private static final Buffer EMPTY = Buffer.buffer();
  private static final int CODE_TOO_LARGE = 413;
  private static final int CODE_TOO_MANY = 429;
  private final long bodyMsMax;
  private final WebhookMetrics metrics;
  private final BodyBudget budget = new BodyBudget(BODIES_BYTES_MAX, BODY_BYTES_MAX);

  /** Oldest first. */
  private final Set<Reading> readings = new LinkedHashSet<>();

  /**
   * @param bodyMsMax from a request's head to the end of its body
   */
  ReviewBodyReader(long bodyMsMax, WebhookMetrics metrics) {
    this.bodyMsMax = bodyMsMax;
    this.metrics = metrics;
    metrics.inFlight(budget, BodyBudget::bytes);
  }

  /**
   * @param whole gets the body, unless the request is refused
   */
  void read(HttpServerRequest request, long nowMs, Consumer<byte[]> whole) {
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

  /**
   * Takes from the budget, which the largest bodies make room in.
   *
   * @return whether the reading may go on
   */
  private boolean charge(Reading reading, int roomBytes) {
    while (!reading.closed) {
      switch (budget.take(reading.address, roomBytes)) {
        case TAKEN -> {
          return true;
        }
        case ADDRESS_FULL -> largest(reading, reading.address).shed();
        case FULL -> largest(reading, "").shed();
      }
    }
    return false;
  }

  /**
   * @param address empty: of any
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

  /** 0 where the request does not say. */
  private static long announcedBytes(HttpServerRequest request) {
    String length = request.getHeader("content-length");
    if (length == null || length.isEmpty()) {
      return 0;
    }
    return length.length() > 9 ? Long.MAX_VALUE : Long.parseLong(length);
  }

  /**
   * Grows to what has come and at most as much again. A peer that announces much and sends little,
   * or sends much in small parts, costs no more than its bytes.
   *
   * @param announcedBytes 0: not known
   */
  static int room(int neededBytes, long announcedBytes) {
    long most = announcedBytes < neededBytes ? BODY_BYTES_MAX : announcedBytes;
    return (int) Math.max(neededBytes, Math.min(2L * neededBytes, most));
  }

  /** One body on its way. */
  private final class Reading {
    private final HttpServerRequest request;
    private final String address;
    private final long startMs;
    private final long announcedBytes;
    private final long bytesMax;
    private final Consumer<byte[]> whole;

    /** What has come, from its beginning, and room for more. */
    private byte[] body = NOTHING;

    private Buffer latest = EMPTY;
    private int bytes;
    private boolean closed;

    Reading(HttpServerRequest request, long startMs, Consumer<byte[]> whole) {
      this.request = request;
      address = String.valueOf(request.connection().remoteAddress().hostAddress());
      // Of one too large, the uid is all that is needed.
      announcedBytes = announcedBytes(request);
      bytesMax = announcedBytes > BODY_BYTES_MAX ? FIRST_BYTES_MAX : BODY_BYTES_MAX;
      this.startMs = startMs;
      this.whole = whole;
    }

    void more(Buffer part) {
      if (closed) {
        return;
      }
      latest = part;
      int needed = bytes + part.length();
      if (needed > bytesMax) {
        tooLarge();
      } else if (needed <= body.length || grown(needed)) {
        part.getBytes(body, bytes);
        bytes = needed;
      }
    }

    private boolean grown(int neededBytes) {
      int room = room(neededBytes, announcedBytes);
      if (!charge(this, room - body.length)) {
        return false;
      }
      body = Arrays.copyOf(body, room);
      return true;
    }

    private void tooLarge() {
      metrics.count(ReviewKind.of(request.path()), Outcome.MALFORMED);
      deny(
          CODE_TOO_LARGE,
          "the API server's review of this pod is larger than %d bytes, so it is not known what the pod reaches for; make the pod smaller."
              .formatted(BODY_BYTES_MAX));
    }

    void shed() {
      metrics.count(ReviewKind.of(request.path()), Outcome.SHED);
      deny(CODE_TOO_MANY, "too many large reviews are in flight; try again.");
    }

    private void deny(int code, String reason) {
      String uid = ReviewReader.uid(beginning());
      HttpServerResponse response = request.response();
      close();
      if (uid.isEmpty()) {
        refuse(response, code, reason);
      } else if (!response.ended() && !response.closed()) {
        response
            .putHeader("content-type", "application/json")
            .end(Buffer.buffer(AdmissionReview.denial(uid, reason)));
      }
    }

    /** With the part that did not fit. */
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
        latest = EMPTY;
        // Its room is given back when it has been judged: until then it lies in memory.
        body = read.length == body.length ? body : shrunk(read);
        try {
          whole.accept(read);
        } finally {
          close();
        }
      }
    }

    private byte[] shrunk(byte[] read) {
      budget.giveBack(address, body.length - read.length);
      return read;
    }

    void late() {
      close();
      metrics.count(ReviewKind.of(request.path()), Outcome.TIMED_OUT);
      request.response().reset();
    }

    void close() {
      if (!closed) {
        closed = true;
        readings.remove(this);
        budget.giveBack(address, body.length);
        body = NOTHING;
        latest = EMPTY;
      }
    }
  }
}
