package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.stream.FakeNode;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.common.GrpcStatus;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What those get who reach our ports and are no node. */
@Tag("slow")
final class StrangersIT {
  private static final long GIB = 1L << 30;

  /** As many as one address may have. */
  private static final String STREAM_OPEN = "tranche_extender_connections{port=\"stream\"} 48.0";

  private final MockCluster cluster = new MockCluster();
  private final HttpClient http = HttpClient.newHttpClient();
  @AutoClose private RunningExtender running;
  private Extender extender;

  @BeforeEach
  void start() throws Exception {
    running = new RunningExtender(cluster);
    extender = running.extender;
  }

  @Test
  void pagesThatAreNotThere_sayTheirType_andEchoNothing() throws Exception {
    for (String page :
        List.of("/explain?pod=%3Cscript%3E", "/explain?pod=ns/%3Cscript%3E", "/%3Cscript%3E")) {
      var answer = page(page);
      assertThat(answer.statusCode()).as(page).isEqualTo(404);
      assertThat(answer.headers().firstValue("Content-Type"))
          .as(page)
          .hasValue("text/plain; charset=utf-8");
      assertThat(answer.body()).as(page).isNotBlank().doesNotContain("script");
    }
  }

  @Test
  void refusedToken_isNotReviewedAgainAtTheStrangersPace() throws Exception {
    for (int i = 0; i < 3; i++) {
      refuseAStranger();
    }
    assertThat(cluster.reviews()).isEqualTo(1);
    assertThat(running.metrics())
        .contains("tranche_extender_streams_ended_total{cause=\"refused\"} 3");
  }

  /** Each is another one, so that none is known. */
  @Test
  void strangersRandomTokens_areNotAllReviewed() throws Exception {
    String why = "";
    // Several at once: what one brings alone on a busy machine may be allowed.
    for (int i = 0; i < 2_000 && !why.contains("too many tokens"); i += 16) {
      var strangers = new ArrayList<FakeNode>();
      for (int number = i; number < i + 16; number++) {
        strangers.add(stranger("random-" + number));
      }
      for (FakeNode each : strangers) {
        why += each.ended.get();
        each.close();
      }
    }
    assertThat(why).contains("too many tokens");
    assertThat(running.metrics())
        .containsPattern("tranche_extender_streams_ended_total\\{cause=\"limited\"} [1-9]");
  }

  private FakeNode stranger(String token) throws Exception {
    return running.connect(token, FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, GIB)));
  }

  /** They send nothing: neither TLS nor HTTP. */
  @Test
  void idleConnectionsOfOneAddress_areCounted() throws Exception {
    var idle = new ArrayList<Socket>();
    try {
      for (int i = 0; i < 1_000; i++) {
        idle.add(attack(extender.streamPort()));
        idle.add(attack(extender.metricsPort()));
      }
      until(() -> running.metrics().contains(STREAM_OPEN));
      assertThat(running.metrics())
          // And the one that asks.
          .contains("tranche_extender_connections{port=\"metrics\"} 17.0")
          .containsPattern("tranche_extender_connections_refused_total\\{port=\"metrics\"} [1-9]");
      // The port for nodes answers others.
      refuseAStranger();
    } finally {
      for (Socket socket : idle) {
        socket.close();
      }
    }
  }

  private static Socket attack(int port) throws IOException {
    var socket = new Socket();
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.2"), 0));
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
    return socket;
  }

  private void refuseAStranger() throws Exception {
    try (FakeNode stranger = stranger("not-a-token")) {
      assertThat(stranger.ended.get()).contains("does not accept the token");
    }
  }

  /** 300 KB of them unpack to 300 MB. */
  @Test
  void packedMessages_areRefused() throws Exception {
    GrpcClient client =
        GrpcClient.client(
            running.vertx,
            new HttpClientOptions()
                .setSsl(true)
                .setUseAlpn(true)
                .setTrustAll(true)
                .setVerifyHost(false)
                .setProtocolVersion(HttpVersion.HTTP_2));
    var request =
        client
            .request(
                SocketAddress.inetSocketAddress(extender.streamPort(), "localhost"),
                FakeNode.CONNECT)
            .await();
    request.encoding("gzip").headers().set("authorization", "Bearer not-a-token");
    var _ = request.write(NodeReport.getDefaultInstance());
    assertThat(request.response().await().status()).isEqualTo(GrpcStatus.UNIMPLEMENTED);
    client.close().await();
  }

  @Test
  void anotherAccountsToken_isRefused() throws Exception {
    try (FakeNode stranger = stranger("token-of-default")) {
      assertThat(stranger.ended.get())
          .contains("of system:serviceaccount:team-a:default; only")
          .contains("may report");
    }
  }

  /** Of thousands of nodes the page is tens of megabytes. */
  @Test
  void metrics_arePacked_forWhoTakesThemSo() throws Exception {
    var uri = URI.create("http://127.0.0.1:" + extender.metricsPort() + "/metrics");
    var asked = HttpRequest.newBuilder(uri).header("Accept-Encoding", "gzip").build();
    var packed = http.send(asked, HttpResponse.BodyHandlers.ofByteArray());
    assertThat(packed.headers().firstValue("Content-Encoding")).hasValue("gzip");
    var plain = new GZIPInputStream(new ByteArrayInputStream(packed.body())).readAllBytes();
    assertThat(new String(plain, UTF_8)).contains("tranche_extender_ready ");
    var whole = page("/metrics");
    assertThat(whole.headers().firstValue("Content-Encoding")).isEmpty();
    assertThat(whole.body()).contains("tranche_extender_ready ");
    assertThat(packed.body().length).isLessThan(whole.body().length() / 4);
  }

  /** They take nothing of a page that no socket buffers as a whole. */
  @Test
  void slowReadersOfMetrics_shutOutNobody() throws Exception {
    cluster.node("node-a");
    NodeReport.Builder report = FakeNode.node("node-a");
    for (int i = 0; i < 256; i++) {
      report.addGpus(FakeNode.gpu("GPU-" + i, i, 5, GIB).setModel("x".repeat(8_000)));
    }
    var slow = new ArrayList<Socket>();
    try (FakeNode node = running.connect(report)) {
      until(() -> node.reportsOn() && page("/metrics").body().length() > 8 << 20);
      for (int i = 0; i < 8; i++) {
        Socket reader = attack(extender.metricsPort());
        slow.add(reader);
        reader.getOutputStream().write("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".getBytes(UTF_8));
        assertThat(reader.getInputStream().read()).isEqualTo('H');
      }
      assertThat(page("/metrics").statusCode()).isEqualTo(200);
    } finally {
      for (Socket reader : slow) {
        reader.close();
      }
    }
  }

  private HttpResponse<String> page(String path) throws Exception {
    return running.get(extender.metricsPort(), path);
  }
}
