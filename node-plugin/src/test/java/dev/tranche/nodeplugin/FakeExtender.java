package dev.tranche.nodeplugin;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcService;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.SelfSignedCertificate;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.GrpcServerRequest;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
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
  private final Queue<HttpConnection> connections = new ConcurrentLinkedQueue<>();
  private final List<NodeReport> reports = new CopyOnWriteArrayList<>();
  private final AtomicInteger sequence = new AtomicInteger();
  private volatile HttpServer server;
  private volatile GrpcServerRequest<NodeReport, NodeDirective> stream;
  private volatile String authorization = "";

  FakeExtender(String address, SelfSignedCertificate certificate) {
    this.address = address;
    this.options =
        new HttpServerOptions()
            .setSsl(true)
            .setUseAlpn(true)
            .setKeyCertOptions(certificate.keyCertOptions());
  }

  /** Port 0: a free one. */
  int start(int port) throws Exception {
    GrpcServer grpc = GrpcServer.server(vertx);
    grpc.callHandler(NodeReportsGrpcService.Connect, this::connected);
    server =
        vertx
            .createHttpServer(options)
            .connectionHandler(connections::add)
            .requestHandler(grpc)
            .listen(port, address)
            .await();
    return server.actualPort();
  }

  private void connected(GrpcServerRequest<NodeReport, NodeDirective> request) {
    stream = request;
    sequence.set(0);
    authorization = String.valueOf(request.headers().get("authorization"));
    request.handler(report -> reports.add(whole(report)));
    request.errorHandler(error -> {});
    request.exceptionHandler(failure -> {});
  }

  /** Adds to a brief report what it leaves out. */
  private NodeReport whole(NodeReport report) {
    if (report.getReadingsCount() == 0) {
      return report;
    }
    NodeReport.Builder whole = last().toBuilder().clearReadings();
    for (int i = 0; i < report.getReadingsCount(); i++) {
      GpuReading read = report.getReadings(i);
      Gpu.Builder gpu = whole.getGpusBuilder(i).clearLoad().clearPodUses();
      gpu.addAllPodUses(read.getPodUsesList());
      if (read.hasLoad()) {
        gpu.setLoad(read.getLoad());
      }
    }
    return whole.mergeFrom(report).build();
  }

  int direct(NodeDirective.Builder directive) throws Exception {
    int number = sequence.incrementAndGet();
    stream.response().write(directive.setSequence(number).build()).await();
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

  /** Ends its connections, as a restart does. It keeps its port, which another may take. */
  void endConnections() throws Exception {
    for (HttpConnection open = connections.poll(); open != null; open = connections.poll()) {
      open.close().await();
    }
  }

  /** Begins anew with another certificate, as an extender that has got nothing yet. */
  void show(SelfSignedCertificate certificate) throws Exception {
    var ssl = new ServerSSLOptions().setKeyCertOptions(certificate.keyCertOptions());
    server.updateSSLOptions(ssl.setApplicationLayerProtocols(List.of("h2"))).await();
    endConnections();
    reports.clear();
    authorization = "";
  }

  void close() throws Exception {
    vertx.close().await();
  }
}
