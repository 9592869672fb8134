package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.query.Problem;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One who reads the stream. The buffers that wait are shared by all readers; a connection is given
 * the next piece when it has taken those before. From any thread; time is a parameter.
 */
public final class StreamReader {
  /** Nothing was taken for so long. */
  public static final long TAKES_NOTHING_MS_MAX = 10_000;

  /** Besides the picture that it begins with. */
  static final long BEHIND_BYTES_MAX = 8 << 20;

  /** The page takes 12 s of silence for a lost connection, and proxies see that it is used. */
  public static final long ALIVE_MS = 5_000;

  /** As long as a token that was allowed is remembered. */
  public static final long REVIEW_MS = Access.ALLOWED_FOR.toMillis();

  /** The API server may be away for a while. */
  private static final int UNREVIEWED_MAX = 3;

  private static final int PIECE_BYTES = 64 * 1024;
  private static final Buffer ALIVE = Buffer.buffer(": alive\n\n");

  private final Context context;
  private final HttpServerResponse response;
  private final Runnable seen;
  private final Supplier<Future<Optional<Problem>>> review;
  private final Queue<Buffer> pieces = new ArrayDeque<>();
  private Runnable left = () -> {};
  private boolean over;
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
   * @param seen is told whenever the connection has taken something
   * @param review whether the reader may still read
   */
  public StreamReader(
      Context context,
      HttpServerResponse response,
      Runnable seen,
      Supplier<Future<Optional<Problem>>> review) {
    this.context = context;
    this.response = response;
    this.seen = seen;
    this.review = review;
  }

  /**
   * @param whenOver run once
   */
  synchronized void begin(Buffer first, long nowMs, Runnable whenOver) {
    left = whenOver;
    waitingBytesMax = first.length() + BEHIND_BYTES_MAX;
    reviewedMs = nowMs;
    context.runOnContext(
        here -> {
          if (response.ended() || response.closed()) {
            over();
            return;
          }
          response.closeHandler(closed -> over());
          response.exceptionHandler(failure -> over());
          response
              .setChunked(true)
              .putHeader("Content-Type", "text/event-stream")
              .putHeader("Cache-Control", "no-store")
              .putHeader("X-Content-Type-Options", "nosniff")
              // Proxies would keep events until there are many.
              .putHeader("X-Accel-Buffering", "no");
        });
    send(first, nowMs);
  }

  synchronized void send(Buffer event, long nowMs) {
    if (over) {
      return;
    }
    if (waitingBytes == 0) {
      stuckSinceMs = nowMs;
    }
    sentMs = nowMs;
    waitingBytes += event.length();
    for (int at = 0; at < event.length(); at += PIECE_BYTES) {
      pieces.add(event.slice(at, Math.min(event.length(), at + PIECE_BYTES)));
    }
    if (!sending) {
      sending = true;
      context.runOnContext(here -> pump());
    }
  }

  /** On the connection's context. */
  private void pump() {
    while (!response.writeQueueFull()) {
      Buffer piece = next();
      if (piece == null) {
        return;
      }
      response
          .write(piece)
          .onSuccess(written -> taken(piece.length()))
          .onFailure(failure -> over());
    }
    response.drainHandler(drained -> pump());
  }

  private synchronized @Nullable Buffer next() {
    Buffer piece = over ? null : pieces.poll();
    sending = piece != null;
    return piece;
  }

  private synchronized void taken(int bytes) {
    waitingBytes -= bytes;
    tookSome = true;
    seen.run();
  }

  synchronized long waitingBytes() {
    return waitingBytes;
  }

  synchronized boolean isTooSlow(long nowMs) {
    if (tookSome || waitingBytes == 0) {
      stuckSinceMs = nowMs;
      tookSome = false;
    }
    return waitingBytes > waitingBytesMax || nowMs - stuckSinceMs > TAKES_NOTHING_MS_MAX;
  }

  /** Says that the stream is alive, and asks whether it may be read still, each when it is due. */
  void checked(long nowMs) {
    boolean due;
    synchronized (this) {
      if (over) {
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
      boolean said = refusal.isEmpty() || refusal.get().saysNo();
      unreviewed = said ? 0 : unreviewed + 1;
      if (refusal.isEmpty() || (!said && unreviewed < UNREVIEWED_MAX)) {
        return;
      }
    }
    drop();
  }

  /** The reader begins anew, with a picture, where it may. */
  void drop() {
    context.runOnContext(here -> response.reset());
    over();
  }

  private void over() {
    Runnable then;
    synchronized (this) {
      if (over) {
        return;
      }
      over = true;
      pieces.clear();
      waitingBytes = 0;
      then = left;
    }
    then.run();
  }
}
