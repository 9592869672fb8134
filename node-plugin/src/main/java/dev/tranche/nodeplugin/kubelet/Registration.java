package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcClient;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import java.nio.file.Path;

/** Tells the kubelet that a socket in its folder serves a resource. */
final class Registration {
  private static final String API_VERSION = "v1beta1";
  // Within the call, the kubelet connects back to the plugin and allows itself ten seconds for
  // that.
  private static final int LIMIT_MS = 15_000;

  private final Vertx vertx;
  private final SocketAddress kubelet;

  Registration(Vertx vertx, Path kubeletSocket) {
    this.vertx = vertx;
    this.kubelet = SocketAddress.domainSocketAddress(kubeletSocket.toString());
  }

  /** Registers. Fails with the kubelet's status message. */
  Future<Void> register(String resource, String endpoint) {
    RegisterRequest message =
        RegisterRequest.newBuilder()
            .setVersion(API_VERSION)
            .setEndpoint(endpoint)
            .setResourceName(resource)
            .setOptions(DevicePluginServer.options())
            .build();
    // A new client for each call, since an idle client checks its connections every second.
    GrpcClient client = GrpcClient.client(vertx);
    return UnaryCall.send(client, kubelet, RegistrationGrpcClient.Register, message, LIMIT_MS)
        .<Void>mapEmpty()
        .onComplete(done -> client.close());
  }
}
