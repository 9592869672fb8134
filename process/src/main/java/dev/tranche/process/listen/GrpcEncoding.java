package dev.tranche.process.listen;

import io.vertx.core.Handler;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.grpc.common.GrpcStatus;

/**
 * Refuses packed messages. Vert.x bounds a message's size as it arrives and unpacks it without a
 * bound, so that 300 KB become 300 MB. All our messages are sent as they are.
 */
public final class GrpcEncoding {
  private static final String HEADER = "grpc-encoding";
  private static final String IDENTITY = "identity";

  private GrpcEncoding() {}

  /** Passes on the calls whose messages are not packed, and ends the others. */
  public static Handler<HttpServerRequest> refusingPacked(Handler<HttpServerRequest> calls) {
    return call -> {
      String encoding = call.getHeader(HEADER);
      if (encoding != null && !encoding.equals(IDENTITY)) {
        call.response()
            .putHeader("content-type", "application/grpc")
            .putHeader("grpc-accept-encoding", IDENTITY)
            .putHeader("grpc-status", GrpcStatus.UNIMPLEMENTED.toString())
            .putHeader("grpc-message", "send messages with grpc-encoding: identity")
            .end();
        return;
      }
      // Without the header, Vert.x fails on each message that is marked as packed.
      call.headers().set(HEADER, IDENTITY);
      calls.handle(call);
    };
  }
}
