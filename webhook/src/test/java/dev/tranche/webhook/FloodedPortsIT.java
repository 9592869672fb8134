package dev.tranche.webhook;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.webhook.review.AdmissionVerticle;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** All that the ports allow at once, opened against a JVM with the options of the image. */
@Timeout(180)
@Tag("slow")
class FloodedPortsIT {
  private static final ConnectionLimits REVIEWS =
      AdmissionVerticle.HttpLimits.DEFAULT.connections();

  /** As many lines as a head may have, and as many bytes. */
  private static final String LARGEST_HEADERS = ("x: " + "y".repeat(120) + "\r\n").repeat(60);

  /** The beginning of HTTP/2, a SETTINGS frame, and a head that is continued and never ends. */
  private static final byte[] HTTP2 =
      ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0" + "\0\40\0\1\0\0\0\0\1")
          .getBytes(US_ASCII);

  private final List<Socket> open = new ArrayList<>();

  @SuppressWarnings("NullAway.Init")
  private Process webhook;

  @SuppressWarnings("NullAway.Init")
  private BufferedReader output;

  private int reviews;
  private int metrics;

  @BeforeEach
  void start() throws IOException {
    webhook =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of("../deploy/image/webhook.args").toAbsolutePath(),
                "-cp",
                System.getProperty("java.class.path"),
                FloodedPorts.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    output = webhook.inputReader();
    String[] ports = line().split(" ");
    reviews = Integer.parseInt(ports[0]);
    metrics = Integer.parseInt(ports[1]);
  }

  @AfterEach
  void stop() throws IOException {
    for (Socket socket : open) {
      socket.close();
    }
    webhook.destroyForcibly();
  }

  @Test
  void allThatThePortsAllow_takesLessThanHalfOfTheHeap() throws Exception {
    assertThat(review("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
    long before = heap()[0];
    for (String from : List.of("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")) {
      for (int i = 0; i < REVIEWS.connectionsMax() / 4; i++) {
        Socket socket = tls(connect(from, reviews));
        // Half of them with a head that does not end, half with a body that does not.
        String head = "POST /review HTTP/1.1\r\nhost: x\r\n" + LARGEST_HEADERS;
        send(
            socket,
            i % 2 == 0
                ? head
                : head
                    + "content-type: application/json\r\ncontent-length: 4000000\r\n\r\n"
                    + " ".repeat(100_000));
      }
      for (int i = 0; i < ConnectionLimits.METRICS.perAddressMax(); i++) {
        send(connect(from, metrics), "GET /metrics HTTP/1.1\r\nhost: x\r\n" + LARGEST_HEADERS);
      }
      // And as many again as may wait.
      for (int i = 0; i < REVIEWS.waitingMax() / 8; i++) {
        connect(from, reviews);
      }
    }
    long[] heap = heap();
    assertThat(heap[0] - before)
        .as("%d before, %d of %d now", before, heap[0], heap[1])
        .isLessThan(heap[1] / 2);
    assertThat(review("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
    assertThat(health("127.0.0.1")).isEqualTo("HTTP/1.1 200 OK");
  }

  /** The attack that ended the webhook in two seconds. */
  @Test
  void http2_isNotSpoken_withAndWithoutTls() throws Exception {
    for (int i = 0; i < 16; i++) {
      Socket plain = connect("127.0.0.2", metrics);
      plain.getOutputStream().write(HTTP2);
      send(plain, "x".repeat(20_000));
      assertThat(firstLine(plain)).isEqualTo("HTTP/1.1 505 HTTP Version Not Supported");
      Socket tls = tls(connect("127.0.0.2", reviews));
      tls.getOutputStream().write(HTTP2);
      assertThat(firstLine(tls)).isEqualTo("HTTP/1.1 505 HTTP Version Not Supported");
    }
    assertThat(review("127.0.0.2")).isEqualTo("HTTP/1.1 200 OK");
  }

  /** They would be decoded and kept until the first is answered. */
  @Test
  void pipelinedRequests_endTheirConnection() throws Exception {
    String get = "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n";
    Socket plain = connect("127.0.0.2", metrics);
    send(plain, get.repeat(1_000));
    String answer = new String(readAll(plain), US_ASCII);
    assertThat(answer.split("HTTP/1.1 ", -1).length - 1).isLessThanOrEqualTo(2);
  }

  @Test
  void headOfManyShortLines_isRefused() throws Exception {
    Socket plain = connect("127.0.0.2", metrics);
    send(plain, "GET /metrics HTTP/1.1\r\n" + "a:\r\n".repeat(500));
    assertThat(firstLine(plain)).isEqualTo("HTTP/1.1 431 Request Header Fields Too Large");
  }

  /** A pod with the host's network shares the address of the kubelet or of an API server. */
  @Test
  void crowdAtTheSameAddress_shutsNobodyOut() throws Exception {
    for (int i = 0; i < REVIEWS.perAddressMax(); i++) {
      try {
        send(
            tls(connect("127.0.0.2", reviews)),
            "POST /review HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n");
      } catch (IOException late) {
        // A handshake of the crowd's that took too long.
      }
    }
    for (int i = 0; i < ConnectionLimits.METRICS.perAddressMax(); i++) {
      Socket idle = connect("127.0.0.2", metrics);
      send(idle, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      assertThat(firstLine(idle)).isEqualTo("HTTP/1.1 200 OK");
    }
    assertThat(review("127.0.0.2")).isEqualTo("HTTP/1.1 200 OK");
    assertThat(health("127.0.0.2")).isEqualTo("HTTP/1.1 200 OK");
  }

  /** Three API servers behind one address, each with a burst: further connections wait. */
  @Test
  void sixHundredReviewsAtOnceFromOneAddress_areAllAnswered() throws Exception {
    assertAllAreAnswered(List.of("127.0.0.2"));
  }

  @Test
  void sixHundredReviewsAtOnceFromThreeAddresses_areAllAnswered() throws Exception {
    assertAllAreAnswered(List.of("127.0.0.2", "127.0.0.3", "127.0.0.4"));
  }

  private void assertAllAreAnswered(List<String> servers) throws Exception {
    var answers = new ArrayList<Future<String>>();
    try (var senders = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 600; i++) {
        String server = servers.get(i % servers.size());
        Callable<String> review = () -> review(server);
        answers.add(senders.submit(review));
      }
    }
    for (Future<String> answer : answers) {
      assertThat(answer.get()).isEqualTo("HTTP/1.1 200 OK");
    }
  }

  /** Returns the used bytes of the heap, and its maximum. */
  private long[] heap() throws IOException {
    webhook.getOutputStream().write('\n');
    webhook.getOutputStream().flush();
    String[] heap = line().split(" of ");
    return new long[] {Long.parseLong(heap[0]), Long.parseLong(heap[1])};
  }

  private String line() throws IOException {
    String line = output.readLine();
    assertThat(line).as("the webhook has ended").isNotNull();
    return line;
  }

  private String review(String from) throws Exception {
    try (Socket socket = tls(connect(from, reviews))) {
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
    Socket socket = connect(from, metrics);
    send(socket, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    return firstLine(socket);
  }

  private Socket connect(String from, int port) throws IOException {
    var socket = new Socket();
    synchronized (open) {
      open.add(socket);
    }
    socket.setSoTimeout((int) Duration.ofSeconds(60).toMillis());
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
    return socket;
  }

  private static Socket tls(Socket socket) throws Exception {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), new SecureRandom());
    return context.getSocketFactory().createSocket(socket, "localhost", 443, true);
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(US_ASCII));
    socket.getOutputStream().flush();
  }

  /** Returns the first line of the answer; empty if the connection was closed instead. */
  private static String firstLine(Socket socket) {
    var line = new StringBuilder();
    try {
      InputStream in = socket.getInputStream();
      for (int c = in.read(); c >= 0 && c != '\r'; c = in.read()) {
        line.append((char) c);
      }
    } catch (IOException reset) {
      return "";
    }
    return line.toString();
  }

  private static byte[] readAll(Socket socket) {
    try {
      return socket.getInputStream().readAllBytes();
    } catch (IOException reset) {
      return new byte[0];
    }
  }
}
