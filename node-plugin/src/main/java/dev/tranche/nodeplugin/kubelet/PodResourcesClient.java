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

/** Lists who holds which devices, within the kubelet's rate limit. Confined to its event loop. */
final class PodResourcesClient {
  // The kubelet rejects calls above 100 a second and 10 at once, counted over all its callers.
  private static final int CALLS_PER_SECOND = 80;
  private static final int BURST = 8;
  private static final int PACE_WAIT_MS = 13;
  private static final long MESSAGE_MAX_BYTES = 16 << 20;

  private final Vertx vertx;
  private final GrpcClient client;
  private final SocketAddress kubelet;
  private final CallRateLimiter rateLimiter = new CallRateLimiter(CALLS_PER_SECOND, BURST, now());

  PodResourcesClient(Vertx vertx, Path socket) {
    this.vertx = vertx;
    GrpcClientOptions options = new GrpcClientOptions().setMaxMessageSize(MESSAGE_MAX_BYTES);
    this.client = GrpcClient.client(vertx, options);
    this.kubelet = SocketAddress.domainSocketAddress(socket.toString());
  }

  /**
   * Requests a List for a waiting pod. It may use all of the rate limit, and waits a moment for it.
   */
  Future<PodList> listNow(int limitMs) {
    if (rateLimiter.take(now(), 0)) {
      return call(limitMs);
    }
    return vertx
        .timer(PACE_WAIT_MS, TimeUnit.MILLISECONDS)
        .compose(
            v ->
                rateLimiter.take(now(), 0)
                    ? call(limitMs)
                    : Future.failedFuture("PodResources is called too often"));
  }

  /**
   * Requests a List that can wait. Fails at once if waiting pods may need the rest of the rate
   * limit.
   */
  Future<PodList> listIdle(int limitMs) {
    return rateLimiter.take(now(), BURST / 2)
        ? call(limitMs)
        : Future.failedFuture("PodResources is busy");
  }

  private Future<PodList> call(int limitMs) {
    return UnaryCall.send(
            client,
            kubelet,
            PodResourcesListerGrpcClient.List,
            ListPodResourcesRequest.getDefaultInstance(),
            limitMs)
        .map(PodList::new);
  }

  private static long now() {
    return System.nanoTime() / 1_000_000;
  }
}
