package dev.tranche.webhook;

import static dev.tranche.process.listen.ClientSockets.tls;
import static dev.tranche.webhook.Await.await;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.ClientSockets;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.settings.HostPort;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.review.AdmissionVerticle;
import dev.tranche.webhook.review.ReviewHandler;
import dev.tranche.webhook.tls.Pairs;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.SocketAddress;
import java.io.IOException;
import java.net.Socket;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A pod that opens connections and leaves them idle costs the webhook nothing, and nobody else. */
@Tag("slow")
class CrowdedPortsIT {
  private static final int ATTEMPTS = 100;
  private static final int PER_ADDRESS_MAX = 16;

  private static final ConnectionLimits LIMITS = new ConnectionLimits(64, PER_ADDRESS_MAX);

  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx = transport.vertx(new VertxOptions());
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final WebhookMetrics metrics = new WebhookMetrics(registry);
  private final ClientSockets sockets = new ClientSockets();

  @AfterEach
  void stop() throws IOException {
    sockets.close();
    vertx.close().await();
  }

  @Test
  void tlsWithoutARequest_isCounted() throws Exception {
    int port = admission();
    for (int i = 0; i < ATTEMPTS; i++) {
      handshake(attack(port));
      assertThat(open("admission")).isLessThanOrEqualTo(PER_ADDRESS_MAX);
    }
    assertThat(open("admission")).isEqualTo(PER_ADDRESS_MAX);
    assertThat(review(port)).isEqualTo("HTTP/1.1 200 OK");
    await("those to be counted that made room", () -> refused("admission") > 0);
  }

  @Test
  void connectionsThatNeverStartTls_areCounted() throws Exception {
    int port = admission();
    for (int i = 0; i < ATTEMPTS; i++) {
      attack(port);
    }
    await("all to be accepted", () -> open("admission") == PER_ADDRESS_MAX);
    assertThat(review(port)).isEqualTo("HTTP/1.1 200 OK");
  }

  @Test
  void plainConnections_areCounted() throws Exception {
    int port = admin();
    for (int i = 0; i < ATTEMPTS; i++) {
      attack(port);
    }
    await("all to be accepted", () -> open("metrics") == PER_ADDRESS_MAX);
    assertThat(health(port)).isEqualTo("HTTP/1.1 200 OK");
  }

  private int admission() {
    ReviewHandler echo = body -> new ReviewHandler.Answer.Review(Buffer.buffer(body));
    var verticle =
        new AdmissionVerticle(
            new ListeningPort(vertx, transport, "admission", LIMITS),
            SocketAddress.inetSocketAddress(0, "127.0.0.1"),
            Map.of("/review", echo),
            600_000,
            metrics,
            Pairs.serving("localhost"));
    vertx.deployVerticle(verticle).await();
    return verticle.port();
  }

  private int admin() {
    var listening = new ListeningPort(vertx, transport, "metrics", LIMITS);
    metrics.connections(listening);
    var readiness = new Readiness(Optional::empty, InstantSource.system());
    return Webhook.opsPort(registry, readiness)
        .listen(listening, new HostPort("127.0.0.1", 0))
        .await()
        .actualPort();
  }

  private double open(String port) {
    return registry.get("tranche.webhook.connections").tag("port", port).gauge().value();
  }

  private double refused(String port) {
    return registry
        .get("tranche.webhook.connections.refused")
        .tag("port", port)
        .functionCounter()
        .count();
  }

  private Socket attack(int port) throws IOException {
    return sockets.connect("127.0.0.2", port);
  }

  /** And not a word after it. */
  private void handshake(Socket socket) throws Exception {
    SSLSocket tls = tls(socket);
    try {
      tls.startHandshake();
    } catch (IOException refused) {
      // Too late.
    }
  }

  private String review(int port) throws Exception {
    try (Socket socket = tls(sockets.connect("127.0.0.1", port))) {
      return ask(
          socket,
          String.join(
              "\r\n",
              "POST /review HTTP/1.1",
              "host: x",
              "content-type: application/json",
              "content-length: 2",
              "",
              "{}"));
    }
  }

  private String health(int port) throws IOException {
    try (Socket socket = sockets.connect("127.0.0.1", port)) {
      return ask(socket, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    }
  }

  private static String ask(Socket socket, String request) throws IOException {
    socket.getOutputStream().write(request.getBytes(US_ASCII));
    socket.getOutputStream().flush();
    var line = new StringBuilder();
    for (int c = socket.getInputStream().read(); c >= 0 && c != '\r'; ) {
      line.append((char) c);
      c = socket.getInputStream().read();
    }
    return line.toString();
  }
}
