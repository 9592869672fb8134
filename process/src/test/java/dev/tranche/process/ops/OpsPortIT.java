package dev.tranche.process.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class OpsPortIT {
  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx = transport.vertx(new VertxOptions());
  private final HttpClient client = HttpClient.newHttpClient();

  @AfterEach
  void stop() {
    client.close();
    vertx.close().await();
  }

  @Test
  void pages_areMetricsAndProbes_andOthersAreNamed() throws Exception {
    int port =
        listen(
            new OpsPort(
                () -> "up 1\n",
                () -> Probe.readyUnless(Optional.of("the nodes have not been listed yet"))));
    HttpResponse<String> metrics = get(port, "/metrics");
    assertThat(metrics.body()).isEqualTo("up 1\n");
    assertThat(metrics.headers().firstValue("content-type")).contains(OpsPort.METRICS_TYPE);
    assertThat(get(port, "/healthz").body()).isEqualTo("ok\n");
    HttpResponse<String> ready = get(port, "/readyz");
    assertThat(ready.statusCode()).isEqualTo(503);
    assertThat(ready.body()).isEqualTo("the nodes have not been listed yet\n");
    HttpResponse<String> other = get(port, "/<script>");
    assertThat(other.statusCode()).isEqualTo(404);
    assertThat(other.body()).isEqualTo("the pages are /metrics, /healthz and /readyz\n");
    assertThat(other.headers().firstValue("x-content-type-options")).contains("nosniff");
  }

  @Test
  void probeThatFails_isAnswered() throws Exception {
    int port =
        listen(
            new OpsPort(
                request -> request.response().end(),
                () -> Future.failedFuture(new IllegalStateException("the loop has ended"))));
    assertThat(get(port, "/readyz").statusCode()).isEqualTo(500);
  }

  private int listen(OpsPort port) {
    var listening = new ListeningPort(vertx, transport, "metrics", ConnectionLimits.METRICS);
    return port.listen(listening, new HostPort("127.0.0.1", 0)).await().actualPort();
  }

  private HttpResponse<String> get(int port, String path) throws Exception {
    var uri = new URI("http", null, "127.0.0.1", port, path, null, null);
    return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
  }
}
