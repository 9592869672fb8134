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
    Buffer body = Buffer.buffer((int) Math.max(0, announced));
    request.exceptionHandler(call::fail);
    request.handler(
        piece -> {
          if (call.failed()) {
            return;
          }
          if (body.length() + piece.length() > Gate.BODY_BYTES_MAX) {
            call.fail(HttpURLConnection.HTTP_ENTITY_TOO_LARGE);
          } else {
            body.appendBuffer(piece);
          }
        });
    request.endHandler(
        end -> {
          if (!call.failed()) {
            call.put(BODY, body);
            call.next();
          }
        });
  }
}
