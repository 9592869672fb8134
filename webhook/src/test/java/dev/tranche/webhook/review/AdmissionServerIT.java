package dev.tranche.webhook.review;

import static dev.tranche.process.Until.until;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.settings.HostPort;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.tls.Pairs;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpResponseExpectation;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.PoolOptions;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What peers may not do that are no API servers. */
class AdmissionServerIT {
  private static final int BODY_BYTES = (int) ReviewBodyReader.BODY_BYTES_MAX;
  private static final long LONG_MS = 600_000;

  private final LimitedTransport transport = new LimitedTransport();
  private final Vertx vertx = transport.vertx(new VertxOptions());
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final List<SSLSocket> open = new ArrayList<>();

  @SuppressWarnings("NullAway.Init")
  private AdmissionServer serving;

  @AfterEach
  void stop() throws IOException {
    for (SSLSocket socket : open) {
      socket.close();
    }
    vertx.close().await();
  }

  @Test
  void bodiesAnnouncedButNotSent_costNobodyElse() throws Exception {
    int port = serve(LONG_MS);
    for (int i = 0; i < 20; i++) {
      send(connect(port), head(BODY_BYTES) + "{");
    }
    until("the first bytes of all", () -> inFlight() == 40);
    SSLSocket good = connect(port);
    send(good, head(2) + "{}");
    assertThat(statusLine(good)).isEqualTo("HTTP/1.1 200 OK");
  }

  @Test
  void reviewTooLarge_isDeniedByItsUid() throws Exception {
    int port = serve(LONG_MS);
    String beginning =
        "{'apiVersion':'admission.k8s.io/v1','request':{'uid':'u1','object':{'a':'"
            .replace('\'', '"');
    SSLSocket announced = connect(port);
    send(announced, head(20 << 20) + beginning + "x".repeat(100_000));
    assertThat(statusLine(announced)).isEqualTo("HTTP/1.1 200 OK");
    SSLSocket unknown = connect(port);
    send(unknown, head(20 << 20) + "x".repeat(100_000));
    assertThat(statusLine(unknown)).isEqualTo("HTTP/1.1 413 Request Entity Too Large");
    // The API server goes on without an answer about an update.
    SSLSocket update = connect(port);
    String head = head(20 << 20).replace("/review", UpdateHandler.PATH_FRACTION);
    send(update, head + beginning + "x".repeat(100_000));
    assertThat(statusLine(update)).isEqualTo("HTTP/1.1 413 Request Entity Too Large");
    assertThat(inFlight()).isZero();
  }

  @Test
  void bodiesOfOneAddress_makeRoomForASmallOne() throws Exception {
    int port = serve(LONG_MS);
    SSLSocket large = connect(port);
    send(large, head(BODY_BYTES) + "x".repeat(BODY_BYTES - 1));
    until("the large one", () -> inFlight() == BODY_BYTES);
    int smaller = BODY_BYTES - 2;
    for (int others = 1; others < ReviewBodyReader.BODIES_BYTES_MAX / BODY_BYTES; others++) {
      send(connect(port), head(smaller) + "x".repeat(smaller - 1));
      long expected = BODY_BYTES + (long) others * smaller;
      until("the others", () -> inFlight() == expected);
    }
    SSLSocket small = connect(port);
    send(small, head(3_000) + "x".repeat(2_999));
    assertThat(statusLine(large)).isEqualTo("HTTP/1.1 429 Too Many Requests");
    send(small, "x");
    assertThat(statusLine(small)).isEqualTo("HTTP/1.1 200 OK");
  }

  /** API servers announce it; trailers and chunks would be one more thing to bound. */
  @Test
  void bodyOfUnknownLength_isRefused() throws Exception {
    int port = serve(LONG_MS);
    SSLSocket chunked = connect(port);
    String head = head(0).replace("content-length: 0", "transfer-encoding: chunked");
    assertThat(head).contains("chunked");
    send(chunked, head + "bb8\r\n" + "x".repeat(3_000) + "\r\n");
    assertThat(statusLine(chunked)).isEqualTo("HTTP/1.1 411 Length Required");
    assertThat(inFlight()).isZero();
  }

  @Test
  void bodyThatDoesNotEnd_isEnded() throws Exception {
    int port = serve(200);
    SSLSocket slow = connect(port);
    send(slow, head(BODY_BYTES) + "{");
    assertThat(statusLine(slow)).isEmpty();
    assertThat(Reviews.counted(registry, "review", "none", "outcome", "timed_out")).isEqualTo(1);
    assertThat(inFlight()).isZero();
  }

  private static Buffer answer(HttpClient client, int port, Buffer body) {
    return client
        .request(HttpMethod.POST, port, "127.0.0.1", "/review")
        .compose(
            request ->
                request
                    .putHeader("content-type", "application/json")
                    .send(body)
                    .expecting(HttpResponseExpectation.SC_OK)
                    .compose(HttpClientResponse::body))
        .await();
  }

  /** As API servers post them. */
  @Test
  void reviewsOfAnySize_areReadWhole() {
    int port = serve(LONG_MS);
    HttpClient client = http2();
    for (int bytes : new int[] {1, 60 << 10, 1 << 20, 60 << 10, 1_400 << 10}) {
      assertThat(answer(client, port, body(bytes))).isEqualTo(body(bytes));
    }
    assertThat(inFlight()).isZero();
  }

  /** It may have rules of before an upgrade: the API server is to ask its successor. */
  @Test
  void stoppingWebhook_sendsThoseAway_whoKeepAConnection() throws Exception {
    int port = serve(LONG_MS);
    HttpClient client = http2();
    HttpClientRequest request =
        client.request(HttpMethod.POST, port, "127.0.0.1", "/review").await();
    var closed = Promise.promise();
    request.connection().closeHandler(gone -> closed.complete());
    request.putHeader("content-type", "application/json").send(body(1)).await();
    SSLSocket old = connect(port);
    send(old, head(2) + "{}");
    assertThat(statusLine(old)).isEqualTo("HTTP/1.1 200 OK");

    serving.startDrain();
    closed.future().await();
    old.getInputStream().readAllBytes();

    // As long as Services still name it, it answers.
    SSLSocket late = connect(port);
    send(late, head(2) + "{}");
    assertThat(statusLine(late)).isEqualTo("HTTP/1.1 200 OK");
    late.getInputStream().readAllBytes();
    Buffer answer = answer(client, port, body(3_000));
    assertThat(answer).isEqualTo(body(3_000));
  }

  private HttpClient http2() {
    return vertx.createHttpClient(
        new HttpClientOptions()
            .setProtocolVersion(HttpVersion.HTTP_2)
            .setUseAlpn(true)
            .setSsl(true)
            .setTrustAll(true)
            .setVerifyHost(false),
        new PoolOptions().setHttp2MaxSize(1));
  }

  /** Whose places can be told from one another. */
  private static Buffer body(int bytes) {
    Buffer body = Buffer.buffer(bytes);
    for (int i = 0; i < bytes; i++) {
      body.appendByte((byte) (i % 251));
    }
    return body;
  }

  private int serve(long bodyMsMax) {
    ReviewHandler echo = body -> new ReviewHandler.Answer.Review(Buffer.buffer(body));
    var metrics = new WebhookMetrics(registry);
    serving =
        new AdmissionServer(
            new HostPort("127.0.0.1", 0),
            new ListeningPort(vertx, transport, "admission", AdmissionServer.LIMITS),
            Map.of("/review", echo, UpdateHandler.PATH_FRACTION, echo),
            new ReviewBodyReader(vertx, bodyMsMax, metrics),
            metrics);
    serving.serve(Pairs.serving("localhost")).await();
    return serving.port();
  }

  private double inFlight() {
    return registry.get("tranche_webhook_in_flight_bytes").gauge().value();
  }

  private static String head(int bodyBytes) {
    return "POST /review HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        .formatted(bodyBytes);
  }

  private SSLSocket connect(int port) throws Exception {
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), new SecureRandom());
    var socket = (SSLSocket) tls.getSocketFactory().createSocket("127.0.0.1", port);
    open.add(socket);
    socket.startHandshake();
    return socket;
  }

  private static void send(SSLSocket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(US_ASCII));
    socket.getOutputStream().flush();
  }

  /** Empty if the server closed the connection instead. */
  private static String statusLine(SSLSocket socket) {
    var line = new StringBuilder();
    try {
      for (int c = socket.getInputStream().read(); c >= 0 && c != '\r'; ) {
        line.append((char) c);
        c = socket.getInputStream().read();
      }
    } catch (IOException reset) {
      return "";
    }
    return line.toString();
  }
}
