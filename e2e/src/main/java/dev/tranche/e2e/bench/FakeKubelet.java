package dev.tranche.e2e.bench;

import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcService;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.server.GrpcServer;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The kubelet's Registration service alone: it says when a plugin has registered. */
final class FakeKubelet implements AutoCloseable {
  private final Vertx vertx = Vertx.vertx();
  private final BlockingQueue<Instant> registrations = new ArrayBlockingQueue<>(16);
  private final HttpServer server = vertx.createHttpServer();

  FakeKubelet(Path socket) {
    GrpcServer grpc = GrpcServer.server(vertx);
    grpc.addService(
        new RegistrationGrpcService() {
          @Override
          public Future<Empty> register(RegisterRequest request) {
            registrations.offer(Instant.now());
            return Future.succeededFuture(Empty.getDefaultInstance());
          }
        });
    server
        .requestHandler(grpc)
        .listen(SocketAddress.domainSocketAddress(socket.toString()))
        .await();
  }

  /** The moment of the next registration, null when none comes. */
  @Nullable Instant awaitRegistration() throws InterruptedException {
    return registrations.poll(60, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    vertx.close().await();
  }
}
