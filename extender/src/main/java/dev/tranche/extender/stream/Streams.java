package dev.tranche.extender.stream;

import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcServerResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends a call with a status, whatever state it is in. */
final class Streams {
  private static final Logger LOG = LoggerFactory.getLogger(Streams.class);

  private Streams() {}

  static void end(GrpcServerResponse<?, ?> response, GrpcStatus status, String why) {
    try {
      response
          .status(status)
          .statusMessage(why)
          .end()
          .onFailure(gone -> LOG.debug("a stream was gone before its end: {}", why));
    } catch (IllegalStateException cancelled) {
      LOG.debug("a stream was cancelled before its end: {}", why);
    }
  }
}
