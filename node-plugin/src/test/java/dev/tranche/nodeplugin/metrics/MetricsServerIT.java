package dev.tranche.nodeplugin.metrics;

import static dev.tranche.process.Until.until;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.ops.Probe;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A pod that opens connections and leaves them idle costs the node plugin nothing. */
class MetricsServerIT {
  private static final int ATTEMPTS = 1_000;

  private static final String FULL = "tranche_node_connections{port=\"metrics\"} 16.0";

  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx = transport.vertx(new VertxOptions());
  private final NodeMetrics metrics = new NodeMetrics();
  private final List<Socket> idle = new ArrayList<>();

  @AfterEach
  void stop() throws IOException {
    for (Socket socket : idle) {
      socket.close();
    }
    vertx.close().await();
  }

  @Test
  void idleConnections_areCounted_andOthersAreAnswered() throws Exception {
    int port = serve();
    for (int i = 0; i < ATTEMPTS; i++) {
      idle.add(connect("127.0.0.2", port));
    }
    until("16 are served", () -> metrics.scrape().contains(FULL));
    assertThat(page(port)).contains("tranche_node_connections{port=\"metrics\"} 17.0");
  }

  private int serve() {
    return metrics
        .serve(vertx, transport, new HostPort("127.0.0.1", 0), () -> Probe.ALIVE)
        .await()
        .actualPort();
  }

  private static String page(int port) throws IOException {
    try (Socket socket = connect("127.0.0.1", port)) {
      String request = "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(US_ASCII));
      socket.getOutputStream().flush();
      var reader = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII));
      return reader.readAllAsString();
    }
  }

  private static Socket connect(String from, int port) throws IOException {
    var socket = new Socket();
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
    return socket;
  }
}
