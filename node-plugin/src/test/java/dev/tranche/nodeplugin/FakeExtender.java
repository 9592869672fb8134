package dev.tranche.nodeplugin;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcService;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.GrpcServerRequest;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One extender replica on a loopback address, over TLS. Fields without a value are set by start.
 */
@SuppressWarnings("NullAway.Init")
final class FakeExtender {
  private final Vertx vertx = Vertx.vertx();
  private final String address;
  private final HttpServerOptions options;
  private final List<NodeReport> reports = new CopyOnWriteArrayList<>();
  private final AtomicInteger sequence = new AtomicInteger();
  private volatile HttpServer server;
  private volatile GrpcServerRequest<NodeReport, NodeDirective> stream;
  private volatile String authorization = "";

  FakeExtender(String address, TestCertificate certificate) {
    this.address = address;
    this.options =
        new HttpServerOptions()
            .setSsl(true)
            .setUseAlpn(true)
            .setKeyCertOptions(certificate.options());
  }

  /** Port 0: a free one. */
  int start(int port) throws Exception {
    GrpcServer grpc = GrpcServer.server(vertx);
    grpc.callHandler(NodeReportsGrpcService.Connect, this::connected);
    server =
        FakeKubelet.await(
            vertx.createHttpServer(options).requestHandler(grpc).listen(port, address));
    return server.actualPort();
  }

  private void connected(GrpcServerRequest<NodeReport, NodeDirective> request) {
    stream = request;
    sequence.set(0);
    authorization = String.valueOf(request.headers().get("authorization"));
    request.handler(reports::add);
    request.errorHandler(error -> {});
    request.exceptionHandler(failure -> {});
  }

  int direct(NodeDirective.Builder directive) throws Exception {
    int number = sequence.incrementAndGet();
    FakeKubelet.await(stream.response().write(directive.setSequence(number).build()));
    return number;
  }

  List<NodeReport> reports() {
    return reports;
  }

  NodeReport last() {
    return reports.isEmpty() ? NodeReport.getDefaultInstance() : reports.getLast();
  }

  String authorization() {
    return authorization;
  }

  void stop() throws Exception {
    FakeKubelet.await(server.close());
  }

  void close() throws Exception {
    FakeKubelet.await(vertx.close());
  }
}
