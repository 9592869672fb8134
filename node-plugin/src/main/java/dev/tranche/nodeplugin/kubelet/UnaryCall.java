package dev.tranche.nodeplugin.kubelet;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.GrpcClientResponse;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.common.ServiceMethod;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Makes one unary gRPC call to the kubelet. The generated clients hide the status message, which
 * has the reason of a refusal. They also do not cancel a call that is late.
 */
final class UnaryCall {
  private UnaryCall() {}

  /**
   * Sends a message as {@link #send} does, by a client of its own: an idle client checks its
   * connections every second.
   */
  static <Q, R> Future<R> once(
      Vertx vertx, Path socket, ServiceMethod<R, Q> method, Q message, int limitMs) {
    GrpcClient client = GrpcClient.client(vertx);
    return send(
            client, SocketAddress.domainSocketAddress(socket.toString()), method, message, limitMs)
        .onComplete(done -> client.close());
  }

  /**
   * Sends a message. Fails with the kubelet's status message, or when {@code limitMs} have passed;
   * the call is then cancelled.
   */
  static <Q, R> Future<R> send(
      GrpcClient client, SocketAddress server, ServiceMethod<R, Q> method, Q message, int limitMs) {
    long startNs = System.nanoTime();
    return client
        .request(server, method)
        .compose(
            request -> {
              long leftMs = limitMs - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
              Future<R> answer =
                  leftMs <= 0
                      ? Future.failedFuture("connected too late")
                      : request
                          .send(message)
                          .compose(UnaryCall::<Q, R>answer)
                          .timeout(leftMs, TimeUnit.MILLISECONDS);
              return answer.onFailure(late -> request.cancel());
            })
        .timeout(limitMs, TimeUnit.MILLISECONDS);
  }

  private static <Q, R> Future<R> answer(GrpcClientResponse<Q, R> response) {
    return response
        .last()
        .transform(
            last -> {
              GrpcStatus status = response.status();
              return status == null || status == GrpcStatus.OK
                  ? (last.succeeded()
                      ? Future.succeededFuture(last.result())
                      : Future.failedFuture(last.cause()))
                  : Future.failedFuture(status + " " + response.statusMessage());
            });
  }
}
