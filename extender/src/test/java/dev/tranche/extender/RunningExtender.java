package dev.tranche.extender;

import static dev.tranche.process.Until.until;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.stream.FakeNode;
import io.vertx.core.Vertx;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** An extender with its ports, an API server that it asks, and node plugins that connect to it. */
final class RunningExtender implements AutoCloseable {
  final MockCluster cluster;
  final Vertx vertx = Vertx.vertx();
  final Extender extender;
  private final HttpClient http = HttpClient.newHttpClient();

  /**
   * @param cluster what it finds when it starts; closed with it
   */
  RunningExtender(MockCluster cluster) throws Exception {
    this.cluster = cluster;
    cluster.reviewTokens();
    cluster.reviewAccess();
    cluster.certificate();
    extender = new Extender(ExtenderIT.config(), cluster.client());
    extender.start().await();
    until(() -> extender.streamPort() > 0 && extender.apiPort() > 0 && extender.apiLocalPort() > 0);
  }

  /** Connects the plugin of the node that the report names. */
  FakeNode connect(NodeReport.Builder report) throws Exception {
    return connect("token-of-" + report.getNode(), report);
  }

  FakeNode connect(String token, NodeReport.Builder report) throws Exception {
    return new FakeNode(vertx, extender.streamPort(), token, report.build());
  }

  String metrics() throws Exception {
    return get(extender.metricsPort(), "/metrics").body();
  }

  /** Calls it as kube-scheduler does. */
  HttpResponse<String> verb(String verb, String body) throws Exception {
    var uri = URI.create("http://127.0.0.1:%d/%s".formatted(extender.verbsPort(), verb));
    return send(HttpRequest.newBuilder(uri).POST(HttpRequest.BodyPublishers.ofString(body)));
  }

  HttpResponse<String> get(int port, String path) throws Exception {
    return send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)));
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  @Override
  public void close() {
    extender.close();
    vertx.close().await();
    cluster.close();
  }
}
