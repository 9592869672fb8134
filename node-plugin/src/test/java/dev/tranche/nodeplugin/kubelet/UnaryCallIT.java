package dev.tranche.nodeplugin.kubelet;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcClient;
import dev.tranche.api.kubelet.RegistrationGrpcService;
import dev.tranche.api.kubelet.RegistrationService;
import dev.tranche.api.podresources.PodResourcesListerGrpcService;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.StatusException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Questions to a kubelet that refuses, or does not answer. */
class UnaryCallIT {
  @TempDir Path folder;
  @AutoClose private final Vertx vertx = Vertx.vertx();

  private static Throwable settled(Future<?> future) {
    return future
        .map(done -> (Throwable) new AssertionError("succeeded"))
        .recover(Future::succeededFuture)
        .await();
  }

  private Path serve(GrpcServer kubelet) throws Exception {
    Path socket = folder.resolve("kubelet.sock");
    settled(
        vertx
            .createHttpServer()
            .requestHandler(kubelet)
            .listen(SocketAddress.domainSocketAddress(socket.toString())));
    return socket;
  }

  @Test
  void refusedRegistration_failsWithTheKubeletsReason() throws Exception {
    var refusing =
        new RegistrationService() {
          @Override
          public Future<Empty> register(RegisterRequest request) {
            return Future.failedFuture(
                new StatusException(GrpcStatus.UNKNOWN, "requested API version is not supported"));
          }
        };
    Path socket = serve(GrpcServer.server(vertx).addService(RegistrationGrpcService.of(refusing)));
    assertThat(settled(register(socket)))
        .hasMessageContaining("requested API version is not supported");
  }

  @Test
  void listThatIsLate_isCancelled() throws Exception {
    AtomicInteger cancelled = new AtomicInteger();
    Path socket =
        serve(
            GrpcServer.server(vertx)
                .callHandler(
                    PodResourcesListerGrpcService.List,
                    request -> request.errorHandler(error -> cancelled.incrementAndGet())));
    assertThat(settled(new PodResourcesClient(vertx, socket).list(200))).isNotNull();
    until("the kubelet need not go on", () -> cancelled.get() == 1);
  }

  private Future<?> register(Path socket) {
    return UnaryCall.once(
        vertx,
        socket,
        RegistrationGrpcClient.Register,
        RegisterRequest.newBuilder().setResourceName("nvidia.com/gpu").build(),
        15_000);
  }
}
