package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcClient;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.common.GrpcStatus;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Tells the kubelet that a socket in its folder serves a resource. */
final class Registration {
  private static final String API_VERSION = "v1beta1";
  // The kubelet dials back inside the call and allows itself ten seconds for that.
  private static final int LIMIT_MS = 15_000;

  private final Vertx vertx;
  private final SocketAddress kubelet;

  Registration(Vertx vertx, Path kubeletSocket) {
    this.vertx = vertx;
    this.kubelet = SocketAddress.domainSocketAddress(kubeletSocket.toString());
  }

  /** Fails with the kubelet's own words. */
  Future<Void> register(String resource, String endpoint) {
    RegisterRequest message =
        RegisterRequest.newBuilder()
            .setVersion(API_VERSION)
            .setEndpoint(endpoint)
            .setResourceName(resource)
            .setOptions(DevicePluginServer.options())
            .build();
    // One for each time: a client that waits for the next looks after its connections every second.
    GrpcClient client = GrpcClient.client(vertx);
    // The generated client would hide the status message, which has the reason.
    return client
        .request(kubelet, RegistrationGrpcClient.Register)
        .compose(
            request ->
                request
                    .send(message)
                    .compose(
                        response ->
                            response
                                .end()
                                .compose(
                                    v ->
                                        response.status() == GrpcStatus.OK
                                            ? Future.succeededFuture()
                                            : Future.<Void>failedFuture(
                                                response.status()
                                                    + " "
                                                    + response.statusMessage()))))
        .timeout(LIMIT_MS, TimeUnit.MILLISECONDS)
        .onComplete(done -> client.close());
  }
}
