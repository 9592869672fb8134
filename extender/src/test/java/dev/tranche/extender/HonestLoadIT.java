package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static dev.tranche.process.listen.ClientSockets.firstLine;
import static dev.tranche.process.listen.ClientSockets.send;
import static dev.tranche.process.listen.ClientSockets.tls;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.stream.FakeNode;
import dev.tranche.extender.stream.StreamServer;
import dev.tranche.process.listen.ClientSockets;
import dev.tranche.process.listen.Flood;
import dev.tranche.process.listen.ImageProcess;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Nodes, readers, kube-scheduler, the kubelet and Prometheus at the extender's ports while
 * strangers flood them, in a JVM with the options and limits of the image. Each flood goes on from
 * before the first honest request until after the last one, and none of these may be refused.
 */
@Tag("slow")
final class HonestLoadIT {
  private static final String OK = "HTTP/1.1 200 OK";

  /** Not the loopback address of the ports, which has no limit of its own on some of them. */
  private static final String HONEST = "127.0.0.9";

  private static final List<String> STRANGERS =
      List.of("127.0.7.2", "127.0.7.3", "127.0.7.4", "127.0.7.5");

  /** The lines of a head that just fits into the bounds of the ports. */
  private static final String HEADERS = ("x: " + "y".repeat(120) + "\r\n").repeat(60);

  private static final int ROUNDS = 20;

  /** More often than a node plugin. */
  private static final long HEARTBEAT_MS = 1_000;

  /** Of each stranger: several connections are opened at once, and wait at the port. */
  private static final int ATTACKERS = 4;

  private final Vertx vertx = Vertx.vertx();
  private final ClientSockets sockets = new ClientSockets();

  /** Each stranger keeps more connections than a port may have of one address. */
  private final Flood flood =
      new Flood(sockets, STRANGERS, ATTACKERS, StreamServer.LIMITS.perAddressMax());

  private final MockCluster cluster = new MockCluster();

  @SuppressWarnings("NullAway.Init")
  private ImageProcess extender;

  private int streamPort;
  private int apiPort;
  private int metricsPort;
  private int verbsPort;

  private void start(String mode) throws Exception {
    cluster.reviewTokens();
    extender = FloodedExtender.start(mode, cluster);
    long[] ports = extender.line("ports");
    streamPort = (int) ports[0];
    apiPort = (int) ports[1];
    metricsPort = (int) ports[3];
    verbsPort = (int) ports[4];
  }

  @AfterEach
  void stop() throws IOException {
    sockets.close();
    extender.close();
    cluster.close();
    vertx.close().await();
  }

  /** Nodes that report keep their streams, and others get one. */
  @Test
  void nodes_areHeard_whileStrangersFloodTheirPort() throws Exception {
    start("scheduler");
    var nodes = new CopyOnWriteArrayList<FakeNode>();
    vertx.setPeriodic(HEARTBEAT_MS, due -> nodes.forEach(node -> node.report(same -> same)));
    try {
      connectNodes(nodes, 10);
      flood.during(
          "TLS and nothing more",
          streamPort,
          stranger -> tls(stranger, "h2").startHandshake(),
          () -> connectNodes(nodes, 20));
      var tokens = new AtomicInteger();
      flood.during(
          "calls with tokens of nobody",
          streamPort,
          stranger -> {
            SSLSocket tls = tls(stranger, "h2");
            String token = "Bearer nobody-" + tokens.incrementAndGet();
            Http2Peer.call(
                tls.getOutputStream(), 1, Http2Peer.CONNECT, token, Http2Peer.begin(tls));
            tls.getOutputStream().flush();
          },
          () -> connectNodes(nodes, 20));
      for (FakeNode node : nodes) {
        assertThat(node.ended).isNotDone();
      }
    } finally {
      nodes.forEach(FakeNode::close);
    }
  }

  /** A node is heard once the extender directs it, which it does at its first report. */
  private void connectNodes(List<FakeNode> nodes, int count) throws Exception {
    for (int i = 0; i < count; i++) {
      String name = "node-" + nodes.size();
      var report = FakeNode.node(name, FakeNode.gpu("GPU-" + nodes.size(), 0, 5, 1L << 30));
      var node = new FakeNode(vertx, HONEST, streamPort, "token-of-" + name, report.build());
      nodes.add(node);
      until(() -> !node.directives.isEmpty() || node.ended.isDone());
      assertThat(node.ended).as(name).isNotDone();
    }
  }

  /** A page and some dashboards of one user, as many requests at once as one address may have. */
  @Test
  void readers_areAnswered_whileStrangersFloodTheReadApi() throws Exception {
    start("scheduler");
    Callable<String> page =
        () ->
            answer(
                tls(sockets.connect(HONEST, apiPort)),
                "GET /api/v1/gpus HTTP/1.1\r\nhost: x\r\nauthorization: Bearer "
                    + FloodedExtender.VIEWER
                    + "\r\n\r\n");
    Flood.Honest readers = () -> assertAllOk(page, 6);
    flood.during(
        "TLS and nothing more", apiPort, stranger -> tls(stranger).startHandshake(), readers);
    flood.during(
        "heads without an end",
        apiPort,
        stranger -> send(tls(stranger), "GET /api/v1/gpus HTTP/1.1\r\nhost: x\r\n" + HEADERS),
        readers);
    flood.during(
        "bodies without an end",
        apiPort,
        stranger ->
            send(
                tls(stranger),
                "POST /api/v1/what-if HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n"
                    + "content-type: application/json\r\nauthorization: Bearer nobody\r\n\r\n{"),
        readers);
  }

  @Test
  void probesAndScrapes_areAnswered_whileStrangersFloodTheirPort() throws Exception {
    start("scheduler");
    Flood.Honest kubelet =
        () -> {
          for (String path : List.of("/healthz", "/metrics")) {
            assertAllOk(
                () ->
                    wholeAnswer(
                        sockets.connect(HONEST, metricsPort),
                        "GET " + path + " HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
                1);
          }
        };
    flood.during("connections", metricsPort, stranger -> {}, kubelet);
    flood.during(
        "heads without an end",
        metricsPort,
        stranger -> send(stranger, "GET /metrics HTTP/1.1\r\nhost: x\r\n" + HEADERS),
        kubelet);
    flood.during(
        "probes",
        metricsPort,
        stranger -> send(stranger, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"),
        kubelet);
  }

  @Test
  void kubeSchedulerOfItsPod_isAnswered_whileStrangersFloodTheVerbs() throws Exception {
    start("scheduler");
    Callable<String> filter = () -> answer(sockets.connect("127.0.0.1", verbsPort), filter());
    floodVerbs(plain -> plain, filter);
  }

  @Test
  void kubeSchedulerElsewhere_isAnswered_whileStrangersFloodTheVerbs() throws Exception {
    start("service");
    Callable<String> filter = () -> answer(tls(sockets.connect(HONEST, verbsPort)), filter());
    floodVerbs(ClientSockets::tls, filter);
  }

  private void floodVerbs(Opening opening, Callable<String> filter) throws Exception {
    // It waits for that many bindings at once.
    Flood.Honest scheduler = () -> assertAllOk(filter, 16);
    flood.during("connections", verbsPort, stranger -> send(opening.of(stranger), ""), scheduler);
    flood.during(
        "heads without an end",
        verbsPort,
        stranger -> send(opening.of(stranger), "POST /filter HTTP/1.1\r\nhost: x\r\n" + HEADERS),
        scheduler);
    flood.during(
        "bodies without an end",
        verbsPort,
        stranger ->
            send(
                opening.of(stranger),
                "POST /filter HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{"),
        scheduler);
  }

  private static String filter() {
    return "POST /filter HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        + "content-length: 2\r\n\r\n{}";
  }

  private interface Opening {
    Socket of(Socket connected) throws Exception;
  }

  private static void assertAllOk(Callable<String> request, int atOnce) throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      var answers = new ArrayList<Future<String>>();
      try (var senders = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int i = 0; i < atOnce; i++) {
          answers.add(senders.submit(request));
        }
      }
      for (Future<String> answer : answers) {
        assertThat(answer.get()).isEqualTo(OK);
      }
    }
  }

  /** Returns the first line of the answer; empty if the connection was closed instead. */
  private static String answer(Socket socket, String request) {
    try (socket) {
      return firstLine(send(socket, request));
    } catch (IOException reset) {
      return "";
    }
  }

  /** The same, but reads to the end: a page is being written until then, and few are at once. */
  private static String wholeAnswer(Socket socket, String request) {
    try (socket) {
      byte[] answer = send(socket, request).getInputStream().readAllBytes();
      return new String(answer, US_ASCII).lines().findFirst().orElse("");
    } catch (IOException reset) {
      return "";
    }
  }
}
