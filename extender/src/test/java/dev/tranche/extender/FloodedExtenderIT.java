package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static dev.tranche.process.listen.ClientSockets.tls;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.http.VerbServer;
import dev.tranche.extender.readapi.ReadApi;
import dev.tranche.extender.stream.StreamServer;
import dev.tranche.process.listen.ClientSockets;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.ImageProcess;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.List;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What strangers may open at the extender's ports, in a JVM with the options of the image. */
@Tag("slow")
final class FloodedExtenderIT {
  private static final long KIB = 1_024;
  private static final long MIB = 1_024 * KIB;

  /** What a connection may retain: with TLS and a head, */
  private static final long HTTP_BYTES_MAX = 30 * KIB;

  /** and with TLS, two heads of calls, and a full window of what is not read yet. */
  private static final long CALLS_BYTES_MAX = 90 * KIB;

  /** Bodies of the two ports of the read API, and of kube-scheduler's. */
  private static final long BODIES_BYTES_MAX = (2 * 8 + 32) * MIB;

  private static final List<String> STRANGERS =
      List.of("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5");

  private final ClientSockets sockets = new ClientSockets();
  private final Vertx vertx = Vertx.vertx();
  private MockCluster cluster = new MockCluster();

  @SuppressWarnings("NullAway.Init")
  private ImageProcess extender;

  @SuppressWarnings("NullAway.Init")
  private long[] ports;

  @BeforeEach
  void startAnswering() throws Exception {
    cluster.reviewTokens();
    start();
  }

  private void start() throws Exception {
    extender = FloodedExtender.start("scheduler", cluster);
    ports = extender.line("ports");
  }

  @AfterEach
  void stop() throws IOException {
    sockets.close();
    extender.close();
    cluster.close();
    vertx.close().await();
  }

  /** The sum of all ports does not need all of their connections to be opened. */
  @Test
  void allThatStrangersMayOpen_takesLessThanHalfOfTheHeap() throws Exception {
    ConnectionLimits nodes = StreamServer.LIMITS;
    ConnectionLimits verbs = VerbServer.limits(true);
    List<ConnectionLimits> http = List.of(ReadApi.REMOTE, ReadApi.LOCAL, ReadApi.PROXIED, verbs);
    long served = (long) STRANGERS.size() * ConnectionLimits.METRICS.perAddressMax();
    for (ConnectionLimits limits : http) {
      served += limits.connectionsMax();
    }
    long all =
        nodes.connectionsMax() * CALLS_BYTES_MAX + served * HTTP_BYTES_MAX + BODIES_BYTES_MAX;
    long[] heap = heap();
    System.out.printf("all that strangers may open: %,d of %,d%n", all, heap[1]);
    assertThat(all).isLessThanOrEqualTo(heap[1] / 2);
  }

  @Test
  void connectionWithTheLargestHead_retainsLittle() throws Exception {
    String headers = largestHeaders();
    String get = "GET /api/v1/gpus HTTP/1.1\r\nHost: x\r\n" + headers;
    for (int i = 0; i < 8; i++) {
      send(tls(sockets.connect("127.0.0.2", port(1))), get);
    }
    // What is loaded once is not counted.
    retained("api", 8);
    for (int i = 0; i < 64; i++) {
      send(tls(sockets.connect(STRANGERS.get(i % 4), port(1))), get);
    }
    assertThat(retained("api", 64)).isBetween((long) headers.length(), HTTP_BYTES_MAX);
    for (int i = 0; i < 64; i++) {
      send(sockets.connect("127.0.0.1", port(2)), get);
    }
    assertThat(retained("api-local", 64)).isBetween((long) headers.length(), HTTP_BYTES_MAX);
    for (int i = 0; i < 24; i++) {
      send(sockets.connect(STRANGERS.get(i % 4), port(3)), get);
    }
    assertThat(retained("metrics", 24)).isBetween((long) headers.length(), HTTP_BYTES_MAX);
  }

  /** The token of each call is being reviewed, so that nothing of it is read or ended. */
  @Test
  void connectionWithTwoCalls_retainsLittle() throws Exception {
    extender.close();
    cluster.close();
    cluster = new MockCluster();
    cluster.neverReviewTokens();
    start();
    openCalls(2);
    long before = extender.settledHeap("heap");
    long retained = 0;
    // Beside other work some may be idle for too long before the heap has settled.
    for (int i = 0; i < 3 && gauge("connections", "stream") < 26; i++) {
      openCalls(26 - gauge("connections", "stream"));
      until(() -> gauge("connections", "stream") == 26);
      retained = (extender.settledHeap("heap") - before) / 24;
    }
    assertThat(gauge("connections", "stream")).isEqualTo(26);
    System.out.printf("a connection with two calls: %,d bytes%n", retained);
    // The window's bytes at least, which are kept as they are.
    assertThat(retained).isBetween((long) Http2Peer.WINDOW_BYTES, CALLS_BYTES_MAX);
  }

  private void openCalls(int connections) throws Exception {
    for (int i = 0; i < connections; i++) {
      SSLSocket node = tls(sockets.connect(STRANGERS.get(i % 4), port(0)), "h2");
      int headBytes = Http2Peer.begin(node);
      OutputStream to = node.getOutputStream();
      Http2Peer.call(to, 1, Http2Peer.CONNECT, "Bearer a" + i, headBytes);
      Http2Peer.call(to, 3, Http2Peer.CONNECT, "Bearer b" + i, headBytes);
      // Messages that do not end.
      byte[] part = new byte[Http2Peer.WINDOW_BYTES];
      part[2] = 16;
      to.write(Http2Peer.frame(Http2Peer.DATA, 0, 1, part));
      to.write(Http2Peer.frame(Http2Peer.DATA, 0, 3, part));
      to.write(Http2Peer.frame(Http2Peer.PING, 0, 0, new byte[8]));
      to.flush();
      // All before it has been read then.
      Http2Peer.awaitFrame(node, Http2Peer.PING);
    }
  }

  /** Answered before it reaches our service, with nothing that ends its connection. */
  @Test
  void unknownCall_isResetOnceItIsAnswered() throws Exception {
    SSLSocket stranger = tls(sockets.connect("127.0.0.2", port(0)), "h2");
    int headBytes = Http2Peer.begin(stranger);
    Http2Peer.call(stranger.getOutputStream(), 1, "/tranche.v1.NodeReports/Unknown", "", headBytes);
    stranger.getOutputStream().flush();
    Http2Peer.awaitFrame(stranger, Http2Peer.RESET);
  }

  /** The head of an answered call would be kept until its peer ends its side. */
  @Test
  void refusedCall_endsItsConnection() throws Exception {
    SSLSocket stranger = tls(sockets.connect("127.0.0.2", port(0)), "h2");
    Http2Peer.call(stranger.getOutputStream(), 1, Http2Peer.CONNECT, "", Http2Peer.begin(stranger));
    stranger.getOutputStream().flush();
    Http2Peer.awaitFrame(stranger, Http2Peer.HEADERS);
    // Ends when the server closes it.
    stranger.getInputStream().transferTo(OutputStream.nullOutputStream());
  }

  private int port(int index) {
    return (int) ports[index];
  }

  /** Returns the largest headers that the ports take, as they answer it. */
  private String largestHeaders() throws IOException {
    String largest = "";
    for (int valueBytes = 16; valueBytes <= 4_096; valueBytes += 8) {
      String headers = ("x: " + "y".repeat(valueBytes) + "\r\n").repeat(60);
      if (!answer("/healthz", headers).startsWith("HTTP/1.1 200 OK")) {
        break;
      }
      largest = headers;
    }
    assertThat(largest).isNotEmpty();
    return largest;
  }

  private String answer(String path, String headers) throws IOException {
    try (Socket socket = sockets.connect("127.0.0.1", port(3))) {
      send(
          socket,
          "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + "\r\n");
      return new String(socket.getInputStream().readAllBytes(), US_ASCII);
    }
  }

  /** Returns the value of a port's gauge; the connection that asks for it is not counted. */
  private int gauge(String name, String port) throws IOException {
    String sample = "tranche_extender_" + name + "{port=\"" + port + "\"} ";
    String value =
        answer("/metrics", "")
            .lines()
            .filter(line -> line.startsWith(sample))
            .findFirst()
            .orElseThrow();
    int count = (int) Double.parseDouble(value.substring(sample.length()));
    return port.equals("metrics") && name.equals("connections") ? count - 1 : count;
  }

  /** Closes what is open, and returns how much of the heap each of these connections retained. */
  private long retained(String port, int connections) throws Exception {
    until(() -> gauge("connections", port) == connections);
    long all = extender.settledHeap("heap");
    // They are still open.
    until(() -> gauge("connections", port) == connections);
    sockets.close();
    until(() -> gauge("connections", port) == 0);
    long retained = (all - extender.settledHeap("heap")) / connections;
    System.out.printf("a connection of port %s: %,d bytes%n", port, retained);
    return retained;
  }

  /** Returns the used bytes of the heap, and its maximum. */
  private long[] heap() throws IOException {
    return extender.ask("heap");
  }

  private static void send(Socket socket, String text) {
    try {
      socket.getOutputStream().write(text.getBytes(US_ASCII));
      socket.getOutputStream().flush();
    } catch (IOException closed) {
      // Another one has its place.
    }
  }
}
