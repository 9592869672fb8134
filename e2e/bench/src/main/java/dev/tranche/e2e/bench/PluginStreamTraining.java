package dev.tranche.e2e.bench;

import dev.tranche.api.Names;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcService;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PfxOptions;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.GrpcServerRequest;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Is an extender to the node plugin in the training run of its image: it takes the plugin's reports
 * and directs it. Otherwise the class cache has none of the classes of a stream, TLS and HTTP/2
 * among them, and each plugin loads them into memory of its own.
 */
public final class PluginStreamTraining {
  /** Enough for brief reports, and for acknowledgements of the directives. */
  private static final int REPORTS = 8;

  private static final int WAIT_S_MAX = 120;
  private static final int ASSIGNMENT_MS = 60_000;
  private final CountDownLatch reports = new CountDownLatch(REPORTS);
  private long sequence;

  private PluginStreamTraining() {}

  /**
   * Ends once the plugin has sent enough reports.
   *
   * @param args a PKCS#12 file with the server's key and its password, and the port on loopback
   */
  public static void main(String[] args) throws Exception {
    new PluginStreamTraining().serve(args[0], args[1], Integer.parseInt(args[2]));
  }

  private void serve(String key, String password, int port) throws Exception {
    Vertx vertx = Vertx.vertx();
    try {
      GrpcServer grpc = GrpcServer.server(vertx);
      grpc.callHandler(NodeReportsGrpcService.Connect, this::connected);
      var options =
          new HttpServerOptions()
              .setSsl(true)
              .setUseAlpn(true)
              .setKeyCertOptions(new PfxOptions().setPath(key).setPassword(password));
      vertx
          .createHttpServer(options)
          .requestHandler(grpc)
          .listen(port, "127.0.0.1")
          .await(WAIT_S_MAX, TimeUnit.SECONDS);
      if (!reports.await(WAIT_S_MAX, TimeUnit.SECONDS)) {
        throw new IllegalStateException("%d reports are missing".formatted(reports.getCount()));
      }
    } finally {
      vertx.close().await(WAIT_S_MAX, TimeUnit.SECONDS);
    }
  }

  private void connected(GrpcServerRequest<NodeReport, NodeDirective> stream) {
    stream.handler(
        report -> {
          stream.response().write(directive());
          reports.countDown();
        });
    stream.errorHandler(error -> {});
    stream.exceptionHandler(ended -> {});
  }

  /** Returns an assignment of a pod that does not come, or what takes the earlier one back. */
  private NodeDirective directive() {
    var directive = NodeDirective.newBuilder().setSequence(++sequence);
    String pod = "training-" + sequence / 2;
    return sequence % 2 == 0
        ? directive
            .addAssign(
                Assignment.newBuilder()
                    .setPodUid(pod)
                    .setNamespace("training")
                    .setPod(pod)
                    .setResource(Names.RESOURCE)
                    .setExpiresInMs(ASSIGNMENT_MS))
            .build()
        : directive.addRetractPodUids(pod).build();
  }
}
