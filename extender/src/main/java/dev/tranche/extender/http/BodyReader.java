package dev.tranche.extender.http;

import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.ext.web.RoutingContext;
import java.net.HttpURLConnection;

/**
 * Reads a request's body into a buffer of the announced size. Vert.x's own handler reserves 64 KiB
 * at most and grows from there by copying: thousands of names are more, and their copies were a
 * sixth of all garbage. What may be announced at once is for the {@link Gate} to bound.
 */
final class BodyReader implements Handler<RoutingContext> {
  private static final String BODY = "body";

  /** 15,000 nodes' names; what is larger grows. */
  private static final int RESERVED_BYTES_MAX = 1 << 20;

  /** Empty where there was none. */
  static Buffer of(RoutingContext call) {
    Buffer body = call.get(BODY);
    return body == null ? Buffer.buffer() : body;
  }

  @Override
  public void handle(RoutingContext call) {
    HttpServerRequest request = call.request();
    long announced = Gate.announced(request);
    if (announced > Gate.BODY_BYTES_MAX) {
      call.fail(HttpURLConnection.HTTP_ENTITY_TOO_LARGE);
      return;
    }
    if ("100-continue".equalsIgnoreCase(request.getHeader("Expect"))) {
      var _ = call.response().writeContinue();
    }
    Buffer body = Buffer.buffer((int) Math.clamp(announced, 0, RESERVED_BYTES_MAX));
    request.exceptionHandler(call::fail);
    request.handler(
        piece -> {
          if (body.length() + piece.length() > Gate.BODY_BYTES_MAX) {
            // The rest goes to nobody.
            request.handler(null).endHandler(null);
            call.fail(HttpURLConnection.HTTP_ENTITY_TOO_LARGE);
          } else {
            body.appendBuffer(piece);
          }
        });
    request.endHandler(
        end -> {
          call.put(BODY, body);
          call.next();
        });
  }
}
