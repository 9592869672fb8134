package dev.tranche.extender;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.stream.FakeNode;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.vertx.core.Vertx;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What strangers may open at the extender's ports, in a JVM with the options of the image. */
@Timeout(180)
@Tag("slow")
final class FloodedExtenderIT {
  private static final List<String> STRANGERS =
      List.of("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5");

  private static final int PER_STRANGER = 48;
  private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII);
  private static final int HEADERS = 1;
  private static final int SETTINGS = 4;
  private static final int CONTINUATION = 9;
  private static final int END_HEADERS = 4;
  private static final String CONNECT = "/tranche.v1.NodeReports/Connect";
  private static final String LARGEST_HEADERS = ("x: " + "y".repeat(120) + "\r\n").repeat(60);

  private final List<Socket> open = new ArrayList<>();
  private final Vertx vertx = Vertx.vertx();

  @SuppressWarnings("NullAway.Init")
  private Process extender;

  @SuppressWarnings("NullAway.Init")
  private BufferedReader output;

  @SuppressWarnings("NullAway.Init")
  private String[] ports;

  @BeforeEach
  void start() throws IOException {
    extender =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of("../deploy/image/extender.args").toAbsolutePath(),
                "-XX:MaxRAM=512m",
                "-cp",
                System.getProperty("java.class.path"),
                FloodedExtender.class.getName())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    output = extender.inputReader();
    ports = line("ports");
  }

  @AfterEach
  void stop() throws IOException {
    for (Socket socket : open) {
      socket.close();
    }
    vertx.close().await();
    extender.destroyForcibly();
  }

  @Test
  void allThatStrangersMayOpen_takesLessThanHalfOfTheHeap() throws Exception {
    long before = heap()[0];
    for (String from : STRANGERS) {
      for (int i = 0; i < PER_STRANGER; i++) {
        openHeads(tls(connect(from, port(0)), "h2"), i % 2 == 0 ? 1 : 100);
      }
      for (int i = 0; i < 24; i++) {
        send(
            tls(connect(from, port(1))),
            "GET /api/v1/gpus HTTP/1.1\r\nHost: x\r\n" + LARGEST_HEADERS);
        send(
            tls(connect(from, port(1))),
            "POST /api/v1/what-if HTTP/1.1\r\nHost: x\r\n"
                + LARGEST_HEADERS
                + "Content-Length: 2000000\r\n\r\n");
      }
      for (int port : new int[] {port(2), port(3)}) {
        for (int i = 0; i < 16; i++) {
          send(connect(from, port), "GET /metrics HTTP/1.1\r\nHost: x\r\n" + LARGEST_HEADERS);
        }
      }
    }
    long[] heap = heap();
    assertThat(heap[0] - before)
        .as("%d before, %d of %d now", before, heap[0], heap[1])
        .isLessThan(heap[1] / 2);
    // A node is identified all the same; this one is none.
    try (FakeNode node =
        new FakeNode(
            vertx,
            port(0),
            "not-a-token",
            FakeNode.node("node-a", FakeNode.gpu("GPU-a0", 0, 5, 1L << 30)).build())) {
      assertThat(node.ended.get()).contains("does not accept the token");
    }
  }

  /** The head of an answered call would be kept until its peer ends its side. */
  @Test
  void refusedCall_endsItsConnection() throws Exception {
    SSLSocket stranger = tls(connect("127.0.0.2", port(0)), "h2");
    stranger.getOutputStream().write(PREFACE);
    stranger.getOutputStream().write(frame(SETTINGS, 0, 0, new byte[0]));
    stranger.getOutputStream().write(frame(HEADERS, END_HEADERS, 1, head()));
    stranger.getOutputStream().flush();
    // Ends when the server closes it.
    stranger.getInputStream().transferTo(OutputStream.nullOutputStream());
  }

  /** Heads of 7 KB without an end of their stream; the last one does not end itself. */
  private static void openHeads(SSLSocket node, int streams) {
    try {
      OutputStream to = node.getOutputStream();
      to.write(PREFACE);
      to.write(frame(SETTINGS, 0, 0, new byte[0]));
      for (int i = 1; i <= streams; i++) {
        to.write(frame(HEADERS, i == streams ? 0 : END_HEADERS, 2 * i - 1, head()));
      }
      to.write(frame(CONTINUATION, 0, 2 * streams - 1, new byte[0]));
      to.flush();
    } catch (IOException closed) {
      // It asked for too many streams, or another one has its place.
    }
  }

  /** A head in HPACK, each header literally. */
  private static byte[] head() {
    var block = new ByteArrayOutputStream();
    new TreeMap<>(
            Map.of(":method", "POST", ":scheme", "https", ":path", CONNECT, ":authority", "x"))
        .forEach((name, value) -> header(block, name, value));
    header(block, "content-type", "application/grpc");
    header(block, "x", "y".repeat(7_000));
    return block.toByteArray();
  }

  private static void header(ByteArrayOutputStream block, String name, String value) {
    block.write(0);
    text(block, name);
    text(block, value);
  }

  private static void text(ByteArrayOutputStream block, String text) {
    int length = text.length();
    if (length < 127) {
      block.write(length);
    } else {
      block.write(127);
      for (length -= 127; length >= 128; length >>= 7) {
        block.write((length & 127) | 128);
      }
      block.write(length);
    }
    block.writeBytes(text.getBytes(US_ASCII));
  }

  private static byte[] frame(int type, int flags, int stream, byte[] payload) {
    var frame = new ByteArrayOutputStream();
    frame.writeBytes(
        new byte[] {
          (byte) (payload.length >> 16),
          (byte) (payload.length >> 8),
          (byte) payload.length,
          (byte) type,
          (byte) flags,
          0,
          0,
          (byte) (stream >> 8),
          (byte) stream
        });
    frame.writeBytes(payload);
    return frame.toByteArray();
  }

  private int port(int index) {
    return Integer.parseInt(ports[1 + index]);
  }

  /** Returns the used bytes of the heap, and its maximum. */
  private long[] heap() throws IOException {
    extender.getOutputStream().write('\n');
    extender.getOutputStream().flush();
    String[] heap = line("heap");
    return new long[] {Long.parseLong(heap[1]), Long.parseLong(heap[2])};
  }

  private String[] line(String first) throws IOException {
    String line = output.readLine();
    while (line != null && !line.startsWith(first)) {
      line = output.readLine();
    }
    return Objects.requireNonNull(line, "the extender has ended").split(" ");
  }

  private Socket connect(String from, int port) throws IOException {
    var socket = new Socket();
    open.add(socket);
    socket.setSoTimeout((int) Duration.ofSeconds(60).toMillis());
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
    return socket;
  }

  private static SSLSocket tls(Socket socket, String... protocols) throws Exception {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), new SecureRandom());
    var tls = (SSLSocket) context.getSocketFactory().createSocket(socket, "localhost", 443, true);
    var parameters = tls.getSSLParameters();
    parameters.setApplicationProtocols(protocols);
    tls.setSSLParameters(parameters);
    return tls;
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
