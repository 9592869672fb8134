package dev.tranche.extender.http;

import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import java.net.HttpURLConnection;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads a request's body into a reused buffer. Thousands of node names for each pod would be a
 * sixth of all garbage. Vert.x's own handler adds as much again, since it grows from 64 KiB by
 * copying. The {@link RequestLimiter} bounds the total of the announced bytes. Confined to one
 * thread.
 */
final class BodyReader implements Handler<RoutingContext> {
  private static final String BODY = "body";
  private static final Body NONE = Body.of("");

  /** About 15,000 nodes' names. A buffer may grow beyond this, but is then not kept. */
  private static final int KEPT_BYTES_MAX = 1 << 20;

  /** Enough for a bind, whose body has some 300 bytes. */
  private static final int SMALL_BYTES = 1 << 10;

  /** Kept for the next large body; null while one is read into it. */
  private byte @Nullable [] spare;

  /** Returns the call's body, which must be read before the call's handler returns. */
  static Body of(RoutingContext call) {
    Body body = call.get(BODY);
    return body == null ? NONE : body;
  }

  @Override
  public void handle(RoutingContext call) {
    HttpServerRequest request = call.request();
    long announced = RequestLimiter.announced(request);
    if (announced > RequestLimiter.BODY_BYTES_MAX) {
      call.fail(HttpURLConnection.HTTP_ENTITY_TOO_LARGE);
      return;
    }
    if ("100-continue".equalsIgnoreCase(request.getHeader("Expect"))) {
      var _ = call.response().writeContinue();
    }
    var body = new BodyBuffer(reserved(announced));
    request.exceptionHandler(call::fail);
    request.handler(
        piece -> {
          if (!body.append(piece)) {
            // Discards the rest of the body.
            request.handler(null).endHandler(null);
            call.fail(HttpURLConnection.HTTP_ENTITY_TOO_LARGE);
          }
        });
    request.endHandler(
        end -> {
          call.put(BODY, new Body(body.bytes, body.length));
          try {
            call.next();
          } finally {
            keep(body.bytes);
          }
        });
  }

  /**
   * @param announced in bytes; below 0: unknown
   */
  private byte[] reserved(long announced) {
    if (announced <= SMALL_BYTES) {
      return new byte[SMALL_BYTES];
    }
    byte[] kept = spare;
    if (kept != null && announced <= kept.length) {
      spare = null;
      return kept;
    }
    return new byte[(int) Math.min(announced + announced / 4, KEPT_BYTES_MAX)];
  }

  /** Keeps the larger of this buffer and the spare one. */
  private void keep(byte[] bytes) {
    int before = spare == null ? SMALL_BYTES : spare.length;
    if (bytes.length > before && bytes.length <= KEPT_BYTES_MAX) {
      spare = bytes;
    }
  }

  private static final class BodyBuffer {
    byte[] bytes;
    int length;

    BodyBuffer(byte[] bytes) {
      this.bytes = bytes;
    }

    /**
     * @return false: the body is too large
     */
    boolean append(Buffer piece) {
      int longer = length + piece.length();
      if (longer > RequestLimiter.BODY_BYTES_MAX) {
        return false;
      }
      if (longer > bytes.length) {
        int grown = Math.min(RequestLimiter.BODY_BYTES_MAX, 2 * bytes.length);
        bytes = Arrays.copyOf(bytes, Math.max(longer, grown));
      }
      piece.getBytes(bytes, length);
      length = longer;
      return true;
    }
  }
}
