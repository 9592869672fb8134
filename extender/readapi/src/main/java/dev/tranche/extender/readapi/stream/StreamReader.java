package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.readapi.query.Problem;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One reader of the stream. All readers share the buffers that wait to be sent; a connection gets
 * the next piece when its write queue has space. Thread-safe; time is a parameter.
 */
public final class StreamReader {
  /** A reader that takes nothing for this long is dropped. */
  public static final long TAKES_NOTHING_MS_MAX = 10_000;

  /** Bytes that may wait for a reader, besides the snapshot that it begins with. */
  static final long BEHIND_BYTES_MAX = 8 << 20;

  /**
   * After this time without an event a comment is sent. The web page takes 12 s without data for a
   * lost connection, and proxies see that the connection is in use.
   */
  public static final long ALIVE_MS = 5_000;

  /**
   * Time between two reviews of access. An allowed token is remembered too, so that a revoked one
   * reads for the sum of both at most.
   */
  public static final long REVIEW_MS = 5_000;

  /** Failed reviews in a row that end the stream; the API server may be unavailable for a while. */
  public static final int UNREVIEWED_MAX = 12;

  private static final int PIECE_BYTES = 64 * 1024;
  private static final Buffer ALIVE = Buffer.buffer(": alive\n\n");

  private final Context context;
  private final HttpServerResponse response;

  /** Whose reader it is: a token's or an address's. */
  final String owner;

  private final Supplier<Future<Optional<Problem>>> review;

  /** Events that are not sent completely; all readers share their bytes. */
  private final Queue<Buffer> events = new ArrayDeque<>();

  /** Sent bytes of the first event. */
  private int sentBytes;

  private Runnable onFinished = () -> {};
  private boolean finished;
  private boolean sending;
  private long waitingBytes;
  private long waitingBytesMax;

  /** Since when the connection takes nothing; meaningless while nothing waits. */
  private long stuckSinceMs;

  private boolean tookSome;
  private long sentMs;
  private long reviewedMs;
  private int unreviewed;

  /**
   * @param context of the connection
   * @param owner whose reader it is: a token's or an address's
   * @param review says why the reader may no longer read; empty if it may
   */
  public StreamReader(
      Context context,
      HttpServerResponse response,
      String owner,
      Supplier<Future<Optional<Problem>>> review) {
    this.context = context;
    this.response = response;
    this.owner = owner;
    this.review = review;
  }

  /**
   * @param onFinished run once
   */
  synchronized void begin(Buffer first, long nowMs, Runnable onFinished) {
    this.onFinished = onFinished;
    waitingBytesMax = first.length() + BEHIND_BYTES_MAX;
    reviewedMs = nowMs;
    context.runOnContext(
        here -> {
          if (response.ended() || response.closed()) {
            finish();
            return;
          }
          response.closeHandler(closed -> finish());
          response.exceptionHandler(failure -> finish());
          response
              .setChunked(true)
              .putHeader("Content-Type", "text/event-stream")
              .putHeader("Cache-Control", "no-store")
              .putHeader("X-Content-Type-Options", "nosniff")
              // Without it, proxies would buffer events until there are many.
              .putHeader("X-Accel-Buffering", "no");
        });
    send(first, nowMs);
  }

  synchronized void send(Buffer event, long nowMs) {
    if (finished) {
      return;
    }
    if (waitingBytes == 0) {
      stuckSinceMs = nowMs;
    }
    sentMs = nowMs;
    waitingBytes += event.length();
    events.add(event);
    if (!sending) {
      sending = true;
      context.runOnContext(here -> pump());
    }
  }

  /** Writes pieces until the connection takes no more. Runs on the connection's context. */
  private void pump() {
    while (!response.writeQueueFull()) {
      Buffer piece = next();
      if (piece == null) {
        return;
      }
      response
          .write(piece)
          .onSuccess(written -> taken(piece.length()))
          .onFailure(failure -> finish());
    }
    response.drainHandler(drained -> pump());
  }

  private synchronized @Nullable Buffer next() {
    Buffer event = finished ? null : events.peek();
    sending = event != null;
    if (event == null) {
      return null;
    }
    int from = sentBytes;
    sentBytes = Math.min(event.length(), from + PIECE_BYTES);
    Buffer piece = event.slice(from, sentBytes);
    if (sentBytes == event.length()) {
      events.remove();
      sentBytes = 0;
    }
    return piece;
  }

  private synchronized void taken(int bytes) {
    waitingBytes -= bytes;
    tookSome = true;
  }

  synchronized void addWaiting(Set<Buffer> waiting) {
    waiting.addAll(events);
  }

  /** Returns whether to close the connection, since too much waits or for too long. */
  synchronized boolean checkTooSlow(long nowMs) {
    if (tookSome || waitingBytes == 0) {
      stuckSinceMs = nowMs;
      tookSome = false;
    }
    return waitingBytes > waitingBytesMax || nowMs - stuckSinceMs > TAKES_NOTHING_MS_MAX;
  }

  /**
   * Sends a keep-alive comment, and reviews whether the reader may still read, each when it is due.
   */
  void keepAliveAndReview(long nowMs) {
    boolean due;
    synchronized (this) {
      if (finished) {
        return;
      }
      if (nowMs - sentMs >= ALIVE_MS) {
        send(ALIVE, nowMs);
      }
      due = nowMs - reviewedMs >= REVIEW_MS;
      if (due) {
        reviewedMs = nowMs;
      }
    }
    if (due) {
      review.get().onSuccess(this::reviewed);
    }
  }

  private void reviewed(Optional<Problem> refusal) {
    synchronized (this) {
      boolean decided = refusal.isEmpty() || refusal.get().isAccessDenied();
      unreviewed = decided ? 0 : unreviewed + 1;
      if (refusal.isEmpty() || (!decided && unreviewed < UNREVIEWED_MAX)) {
        return;
      }
    }
    drop();
  }

  /** Closes the stream. The reader may connect again, and then begins with a new snapshot. */
  void drop() {
    context.runOnContext(here -> response.reset());
    finish();
  }

  private void finish() {
    Runnable then;
    synchronized (this) {
      if (finished) {
        return;
      }
      finished = true;
      events.clear();
      waitingBytes = 0;
      then = onFinished;
    }
    then.run();
  }
}
