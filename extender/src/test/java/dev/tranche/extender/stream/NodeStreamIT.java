package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReportsGrpcService;
import dev.tranche.process.listen.StalledCall;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcServer;
import org.junit.jupiter.api.Test;

final class NodeStreamIT {
  private final Vertx vertx = Vertx.vertx();

  /** Vert.x queues the end behind the directive, and fails on it when the connection closes. */
  @Test
  void closing_whileTheNodeTakesNothing_logsNoException() throws Exception {
    var node = new StalledCall();
    var grpc =
        GrpcServer.server(vertx)
            .callHandler(
                NodeReportsGrpcService.Connect,
                call -> {
                  var stream =
                      new NodeStream(
                          "node-a", vertx, call.response(), () -> call.connection().close(), 0);
                  var _ = stream.send(NodeDirective.newBuilder(), 60_000);
                  stream.closeFromElsewhere(GrpcStatus.OK, "the test ends it");
                });
    HttpServer server =
        vertx.createHttpServer().requestHandler(grpc).listen(0, "127.0.0.1").await();
    node.run(server.actualPort(), "tranche.v1.NodeReports/Connect", false);
    vertx.close().await();
    assertThat(node.logged()).isEmpty();
  }
}
