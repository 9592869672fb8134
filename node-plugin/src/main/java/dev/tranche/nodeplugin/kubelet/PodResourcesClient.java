package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.podresources.ListPodResourcesRequest;
import dev.tranche.api.podresources.PodResourcesListerGrpcClient;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.GrpcClientOptions;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Lists who holds which devices. Confined to its event loop. */
final class PodResourcesClient {
  /**
   * In this time a kubelet that had too many calls, 100 a second of all callers, takes one more.
   */
  private static final int PAUSE_MS = 13;

  private static final long MESSAGE_MAX_BYTES = 16 << 20;

  private final Vertx vertx;
  private final GrpcClient client;
  private final SocketAddress kubelet;

  PodResourcesClient(Vertx vertx, Path socket) {
    this.vertx = vertx;
    GrpcClientOptions options = new GrpcClientOptions().setMaxMessageSize(MESSAGE_MAX_BYTES);
    this.client = GrpcClient.client(vertx, options);
    this.kubelet = SocketAddress.domainSocketAddress(socket.toString());
  }

  /** Requests a List after a moment, since one has just failed. */
  Future<PodList> listAgain(int limitMs) {
    return vertx.timer(PAUSE_MS, TimeUnit.MILLISECONDS).compose(v -> list(limitMs));
  }

  Future<PodList> list(int limitMs) {
    return UnaryCall.send(
            client,
            kubelet,
            PodResourcesListerGrpcClient.List,
            ListPodResourcesRequest.getDefaultInstance(),
            limitMs)
        .map(PodList::new);
  }
}
