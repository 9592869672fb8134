package dev.tranche.webhook;

import static dev.tranche.process.listen.ClientSockets.firstLine;
import static dev.tranche.process.listen.ClientSockets.send;
import static dev.tranche.process.listen.ClientSockets.tls;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.ClientSockets;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.Flood;
import dev.tranche.process.listen.ImageProcess;
import dev.tranche.webhook.review.AdmissionServer;
import dev.tranche.webhook.review.ReviewBodyReader;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** All that the ports allow at once, opened against a JVM with the options of the image. */
@Tag("slow")
class FloodedPortsIT {
  private static final ConnectionLimits REVIEWS = AdmissionServer.LIMITS;

  private static final ConnectionLimits METRICS = ConnectionLimits.METRICS;

  private static final List<String> STRANGERS =
      List.of("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5");

  /** As many lines as a head may have, together with the others. */
  private static final int HEADERS = 60;

  /** The bodies of all connections together just fit into their budget. */
  private static final int BODY_BYTES =
      (int) ReviewBodyReader.BODIES_BYTES_MAX / REVIEWS.connectionsMax();

  /** The beginning of HTTP/2, a SETTINGS frame, and a head that is continued and never ends. */
  private static final String HTTP2 =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0" + "\0\40\0\1\0\0\0\0\1";

  private final ClientSockets sockets = new ClientSockets();

  @SuppressWarnings("NullAway.Init")
  private ImageProcess webhook;

  private int reviews;
  private int metrics;

  @BeforeEach
  void startAsShipped() throws IOException {
    start("shipped");
  }

  private void start(String timeLimits) throws IOException {
    webhook =
        ImageProcess.start("webhook.args", Map.of(), FloodedPorts.class.getName(), timeLimits);
    long[] ports = webhook.line("ports");
    reviews = (int) ports[0];
    metrics = (int) ports[1];
  }

  @AfterEach
  void stop() throws IOException {
    sockets.close();
    webhook.close();
  }

  /** With a long time for bodies, so that all connections are open when the heap is read. */
  @Test
  void allThatThePortsAllow_takesLessThanHalfOfTheHeap() throws Exception {
    stop();
    start("patient");
    assertThat(review("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
    String headers = largestHeaders();
    for (String from : STRANGERS) {
      for (int i = 0; i < REVIEWS.connectionsMax() / STRANGERS.size(); i++) {
        send(
            tls(sockets.connect(from, reviews)),
            "POST /review HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                + headers
                + "content-length: %d\r\n\r\n".formatted(BODY_BYTES)
                + " ".repeat(BODY_BYTES - 1));
      }
      for (int i = 0; i < METRICS.perAddressMax(); i++) {
        send(sockets.connect(from, metrics), "GET /metrics HTTP/1.1\r\nhost: x\r\n" + headers);
      }
    }
    long bodies = (long) REVIEWS.connectionsMax() * (BODY_BYTES - 1);
    int metricsMax = STRANGERS.size() * METRICS.perAddressMax();
    Usage all =
        await(
            usage ->
                usage.bodies() >= bodies
                    && usage.reviews() == REVIEWS.connectionsMax()
                    && usage.metrics() == metricsMax);
    long allHeap = webhook.settledHeap("usage");

    sockets.close();
    var _ = await(usage -> usage.reviews() + usage.metrics() + usage.bodies() == 0);
    long retained = allHeap - webhook.settledHeap("usage");
    String measured =
        "%,d bytes of heads, %,d of bodies: %,d retained, %,d used of %,d"
            .formatted(headers.length(), all.bodies(), retained, allHeap, all.heapMax());
    System.out.println("all that the webhook's ports allow: " + measured);
    long heads = (long) (REVIEWS.connectionsMax() + metricsMax) * headers.length();
    assertThat(retained).as(measured).isBetween(heads + bodies, all.heapMax() / 2);
    assertThat(review("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
    assertThat(health("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
  }

  /** Returns the largest headers that the ports take, as they answer it. */
  private String largestHeaders() throws IOException {
    String largest = "";
    for (int valueBytes = 16; valueBytes <= 4_096; valueBytes += 8) {
      String headers = ("x: " + "y".repeat(valueBytes) + "\r\n").repeat(HEADERS);
      try (Socket socket = sockets.connect("127.0.0.1", metrics)) {
        send(socket, "GET /healthz HTTP/1.1\r\nhost: x\r\n" + headers + "\r\n");
        if (!firstLine(socket).equals("HTTP/1.1 200 OK")) {
          break;
        }
      }
      largest = headers;
    }
    assertThat(largest).isNotEmpty();
    return largest;
  }

  /** The attack that ended the webhook in two seconds. */
  @Test
  void http2_isNotSpoken_withAndWithoutTls() throws Exception {
    for (int i = 0; i < 16; i++) {
      Socket plain = sockets.connect("127.0.0.2", metrics);
      send(plain, HTTP2 + "x".repeat(20_000));
      assertThat(firstLine(plain)).endsWith("501 Not Implemented");
      assertThat(firstLine(send(tls(sockets.connect("127.0.0.2", reviews)), HTTP2)))
          .endsWith("501 Not Implemented");
    }
    assertThat(review("127.0.0.2")).isEqualTo("HTTP/1.1 200 OK");
  }

  /** The answers would be kept until their peer takes them. */
  @Test
  void requestsOfAPeerThatTakesNoAnswers_endTheirConnection() throws Exception {
    String get = "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n";
    Socket plain = sockets.connect("127.0.0.2", metrics);
    send(plain, get.repeat(1_000));
    String answer = new String(readAll(plain), US_ASCII);
    assertThat(answer.split("HTTP/1.1 200", -1).length - 1).isLessThan(1_000);
  }

  @Test
  void headOfManyShortLines_isRefused() throws Exception {
    Socket plain = sockets.connect("127.0.0.2", metrics);
    send(plain, "GET /metrics HTTP/1.1\r\n" + "a:\r\n".repeat(500));
    assertThat(firstLine(plain)).isEqualTo("HTTP/1.1 431 Request Header Fields Too Large");
  }

  /** A pod with the host's network shares the address of the kubelet or of an API server. */
  @Test
  void crowdAtTheSameAddress_shutsNobodyOut() throws Exception {
    for (int i = 0; i < REVIEWS.perAddressMax(); i++) {
      try {
        send(
            tls(sockets.connect("127.0.0.2", reviews)),
            "POST /review HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n");
      } catch (IOException late) {
        // A handshake of the crowd's that took too long.
      }
    }
    for (int i = 0; i < METRICS.perAddressMax(); i++) {
      Socket idle = sockets.connect("127.0.0.2", metrics);
      send(idle, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      assertThat(firstLine(idle)).isEqualTo("HTTP/1.1 200 OK");
    }
    assertThat(review("127.0.0.2")).isEqualTo("HTTP/1.1 200 OK");
    assertThat(health("127.0.0.2")).isEqualTo("HTTP/1.1 200 OK");
  }

  /** They begin no TLS, or send nothing after their handshake, or nothing at all. */
  @Test
  void idleConnectionsOfOneAddress_areCounted() throws Exception {
    openUntilCounted(_ -> {});
    assertThat(review("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
    assertThat(health("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
    openUntilCounted(
        socket -> {
          try {
            tls(socket).startHandshake();
          } catch (IOException | GeneralSecurityException late) {
            // Another one has its place.
          }
        });
    assertThat(review("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
  }

  /** Again if need be: on a busy machine the first ones may end before the last ones begin. */
  private void openUntilCounted(Consumer<Socket> onReviews) throws IOException {
    Usage usage;
    do {
      for (int i = 0; i < 2 * REVIEWS.perAddressMax(); i++) {
        onReviews.accept(sockets.connect("127.0.0.2", reviews));
      }
      for (int i = 0; i < 2 * METRICS.perAddressMax(); i++) {
        sockets.connect("127.0.0.2", metrics);
      }
      usage = usage();
      assertThat(Thread.interrupted()).as("%s", usage).isFalse();
    } while (!hasAsManyAsOneAddressMay(usage));
  }

  private static boolean hasAsManyAsOneAddressMay(Usage usage) {
    return usage.reviews() == REVIEWS.perAddressMax() && usage.metrics() == METRICS.perAddressMax();
  }

  @Test
  void honestReviewsAndProbes_areAnswered_whileStrangersAttack() throws Exception {
    String headers = largestHeaders();
    var flood = new Flood(sockets, STRANGERS, 1, REVIEWS.perAddressMax() + 8);
    flood.during(
        "HTTP/2 on the port for reviews",
        reviews,
        stranger -> send(tls(stranger), HTTP2),
        this::assertHonestAreAnswered);
    flood.during(
        "heads on the port for reviews",
        reviews,
        stranger -> send(tls(stranger), "POST /review HTTP/1.1\r\nhost: x\r\n" + headers),
        this::assertHonestAreAnswered);
    flood.during(
        "HTTP/2 on the port for metrics",
        metrics,
        stranger -> send(stranger, HTTP2),
        this::assertHonestAreAnswered);
    flood.during(
        "heads on the port for metrics",
        metrics,
        stranger -> send(stranger, "GET /metrics HTTP/1.1\r\nhost: x\r\n" + headers),
        this::assertHonestAreAnswered);
  }

  private void assertHonestAreAnswered() throws Exception {
    for (int i = 0; i < 50; i++) {
      assertThat(review("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
      assertThat(health("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
    }
  }

  /** Three API servers behind one address, each with a burst: further connections wait. */
  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.2", "127.0.0.2,127.0.0.3,127.0.0.4"})
  void sixHundredReviewsAtOnce_areAllAnswered(String servers) throws Exception {
    String[] addresses = servers.split(",", -1);
    var answers = new ArrayList<Future<String>>();
    try (var senders = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 600; i++) {
        String server = addresses[i % addresses.length];
        Callable<String> review = () -> review(server);
        answers.add(senders.submit(review));
      }
    }
    for (Future<String> answer : answers) {
      assertThat(answer.get()).isEqualTo("HTTP/1.1 200 OK");
    }
  }

  /** What the webhook uses, after a garbage collection. */
  private record Usage(long heap, long heapMax, long reviews, long metrics, long bodies) {}

  /** Asks again until it is so; the time limit is that of the test. */
  private Usage await(Predicate<Usage> condition) throws IOException {
    Usage usage = usage();
    while (!condition.test(usage)) {
      assertThat(Thread.interrupted()).as("%s", usage).isFalse();
      usage = usage();
    }
    return usage;
  }

  private Usage usage() throws IOException {
    long[] numbers = webhook.ask("usage");
    return new Usage(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
  }

  private String review(String from) throws Exception {
    try (Socket socket = tls(sockets.connect(from, reviews))) {
      send(
          socket,
          String.join(
              "\r\n",
              "POST /review HTTP/1.1",
              "host: x",
              "content-type: application/json",
              "content-length: 2",
              "",
              "{}"));
      return firstLine(socket);
    }
  }

  private String health(String from) throws IOException {
    try (Socket socket = sockets.connect(from, metrics)) {
      send(socket, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      return firstLine(socket);
    }
  }

  private static byte[] readAll(Socket socket) {
    try {
      return socket.getInputStream().readAllBytes();
    } catch (IOException reset) {
      return new byte[0];
    }
  }
}
