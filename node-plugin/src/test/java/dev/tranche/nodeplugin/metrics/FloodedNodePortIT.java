package dev.tranche.nodeplugin.metrics;

import static dev.tranche.process.listen.ClientSockets.firstLine;
import static dev.tranche.process.listen.ClientSockets.send;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.ClientSockets;
import dev.tranche.process.listen.ConnectionLimits;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** All that the node plugin's port allows, opened against a JVM with the options of the image. */
class FloodedNodePortIT {
  private static final int PER_ADDRESS_MAX = ConnectionLimits.METRICS.perAddressMax();

  private static final List<String> STRANGERS =
      List.of("127.0.8.2", "127.0.8.3", "127.0.8.4", "127.0.8.5");

  /** As many lines as a head may have, together with the others. */
  private static final int HEADERS = 60;

  private static final String OK = "HTTP/1.1 200 OK";

  private final ClientSockets sockets = new ClientSockets();

  @SuppressWarnings("NullAway.Init")
  private Process plugin;

  @SuppressWarnings("NullAway.Init")
  private BufferedReader output;

  private int port;

  @BeforeEach
  void start() throws IOException {
    plugin =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of("../deploy/image/node-plugin.args").toAbsolutePath(),
                "-cp",
                System.getProperty("java.class.path"),
                FloodedNodePort.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    output = plugin.inputReader();
    port = Integer.parseInt(line());
  }

  @AfterEach
  void stop() throws IOException {
    sockets.close();
    plugin.destroyForcibly();
  }

  @Test
  void allThatFourAddressesMayOpen_takesLessThanHalfOfTheHeap() throws Exception {
    int connections = STRANGERS.size() * PER_ADDRESS_MAX;
    String headers = largestHeaders();
    for (String from : STRANGERS) {
      for (int i = 0; i < PER_ADDRESS_MAX; i++) {
        send(sockets.connect(from, port), "GET /metrics HTTP/1.1\r\nhost: x\r\n" + headers);
      }
    }
    await(usage -> usage.connections() == connections);
    long heads = (long) connections * headers.length();
    Usage all = settled();

    sockets.close();
    await(usage -> usage.connections() == 0);
    long retained = all.heap() - settled().heap();
    String measured =
        "%,d bytes of heads: %,d retained, %,d used of %,d"
            .formatted(heads, retained, all.heap(), all.heapMax());
    System.out.println("all that four addresses may open at the node plugin: " + measured);
    assertThat(retained).as(measured).isBetween(heads, all.heapMax() / 2);
    assertThat(page("127.0.0.1", "/metrics")).isEqualTo(OK);
  }

  /**
   * The kubelet probes and Prometheus scrapes, from before the attack until after its last
   * connection.
   */
  @Test
  void probesAndScrapes_areAnswered_whileStrangersAttack() throws Exception {
    String headers = largestHeaders();
    assertHonestAreAnswered("nothing", "");
    assertHonestAreAnswered("heads", "GET /metrics HTTP/1.1\r\nhost: x\r\n" + headers);
    assertHonestAreAnswered("scrapes", "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
  }

  private void assertHonestAreAnswered(String attack, String sent) throws Exception {
    var going = new AtomicBoolean(true);
    var attempts = new AtomicInteger();
    var started = new CountDownLatch(STRANGERS.size() * PER_ADDRESS_MAX);
    var answers = new ArrayList<String>();
    int before = 0;
    try (var attackers = Executors.newVirtualThreadPerTaskExecutor()) {
      for (String from : STRANGERS) {
        attackers.execute(
            () -> {
              var kept = new ArrayDeque<Socket>();
              while (going.get()) {
                attackOnce(from, sent, kept);
                attempts.incrementAndGet();
                started.countDown();
              }
            });
      }
      try {
        started.await();
        before = attempts.get();
        for (int i = 0; i < 50; i++) {
          answers.add(page("127.0.0.1", "/healthz"));
          answers.add(page("127.0.0.1", "/readyz"));
          answers.add(page("127.0.0.1", "/metrics"));
        }
      } finally {
        going.set(false);
        sockets.close();
      }
    }
    assertThat(attempts.get()).as(attack).isGreaterThan(before);
    assertThat(answers).as(attack).hasSize(150).containsOnly(OK);
  }

  /** Keeps a few connections more than an address may have. */
  private void attackOnce(String from, String sent, ArrayDeque<Socket> kept) {
    try {
      Socket socket = sockets.connect(from, port);
      kept.add(socket);
      send(socket, sent);
      if (kept.size() > PER_ADDRESS_MAX + 8) {
        kept.remove().close();
      }
    } catch (IOException ended) {
      // Another one has its place.
    }
  }

  /** Returns the largest headers that the port takes, as it answers them. */
  private String largestHeaders() throws IOException {
    String largest = "";
    for (int valueBytes = 16; valueBytes <= 4_096; valueBytes += 8) {
      String headers = ("x: " + "y".repeat(valueBytes) + "\r\n").repeat(HEADERS);
      try (Socket socket = sockets.connect("127.0.0.1", port)) {
        send(socket, "GET /healthz HTTP/1.1\r\nhost: x\r\n" + headers + "\r\n");
        if (!firstLine(socket).equals(OK)) {
          break;
        }
      }
      largest = headers;
    }
    assertThat(largest).isNotEmpty();
    return largest;
  }

  /** What the process uses, after a garbage collection. */
  private record Usage(long heap, long heapMax, long connections) {}

  /** Asks again until it is so; the time limit is that of the test. */
  private void await(Predicate<Usage> condition) throws IOException {
    Usage usage = usage();
    while (!condition.test(usage)) {
      assertThat(Thread.interrupted()).as("%s", usage).isFalse();
      usage = usage();
    }
  }

  /** Returns what is used once that stays as it is: what was sent has been read. */
  private Usage settled() throws IOException {
    Usage before = usage();
    Usage now = usage();
    while (Math.abs(now.heap() - before.heap()) > 16_384) {
      before = now;
      now = usage();
    }
    return now;
  }

  private Usage usage() throws IOException {
    plugin.getOutputStream().write('\n');
    plugin.getOutputStream().flush();
    long[] numbers = Stream.of(line().split(" ")).mapToLong(Long::parseLong).toArray();
    return new Usage(numbers[0], numbers[1], numbers[2]);
  }

  private String line() throws IOException {
    String line = output.readLine();
    assertThat(line).as("the node plugin has ended").isNotNull();
    return line;
  }

  private String page(String from, String path) throws IOException {
    try (Socket socket = sockets.connect(from, port)) {
      send(socket, "GET " + path + " HTTP/1.1\r\nhost: x\r\n\r\n");
      return firstLine(socket);
    }
  }
}
