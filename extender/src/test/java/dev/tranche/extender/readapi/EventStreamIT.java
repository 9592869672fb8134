package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.stream.EventStream;
import dev.tranche.extender.readapi.stream.StreamReader;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The stream over real sockets, with a clock of the test's. */
final class EventStreamIT {
  /** A few pictures of the largest cluster here, which has 16,000 GPUs. */
  private static final long WAITING_BYTES_MAX = 32 << 20;

  private final Vertx vertx = Vertx.vertx();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final ExtenderMetrics metrics = new ExtenderMetrics(registry);
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final AtomicLong nowMs = new AtomicLong();
  private final List<Socket> sockets = new ArrayList<>();
  private volatile Optional<Problem> refusal = Optional.empty();
  private HttpServer server;

  @BeforeEach
  void serve() {
    world.report("a", new Gpu("a0", 0.25, FakeWorld.GIB));
    var reasons = new WaitingReasons(world.explanations);
    var stream =
        new EventStream(
            vertx,
            this::inspection,
            Snapshot::of,
            reasons,
            "",
            nowMs::get,
            metrics,
            WAITING_BYTES_MAX);
    var endpoint =
        new Endpoint(
            vertx,
            question -> Future.succeededFuture(new Answer.Found(Buffer.buffer("{}"))),
            (request, route) -> Future.succeededFuture(refusal),
            stream::join,
            10_000,
            new ReadApiMetrics(metrics));
    server = vertx.createHttpServer().requestHandler(endpoint).listen(0, "127.0.0.1").await();
  }

  private Future<Inspection> inspection() {
    synchronized (world) {
      return Future.succeededFuture(world.inspection());
    }
  }

  @AfterEach
  void stop() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    vertx.close().await();
  }

  @Test
  void reader_getsAPicture_thenWhatChanges_andASignOfLife() throws Exception {
    BufferedReader reader = read();
    assertThat(head(reader)).contains("HTTP/1.1 200 OK", "Content-Type: text/event-stream");
    Event first = next(reader);
    assertThat(first.name()).isEqualTo("snapshot");
    assertThat(first.data().getJsonArray("gpus")).hasSize(1);

    synchronized (world) {
      world.report("a", new Gpu("a0", 0.75, FakeWorld.GIB));
    }
    Event second = next(reader);
    assertThat(second.name()).isEqualTo("change");
    assertThat(second.id()).isGreaterThan(first.id());
    JsonObject gpu = second.data().getJsonArray("gpus").getJsonObject(0);
    assertThat(gpu.getJsonObject("measured").getString("sm")).isEqualTo("750m");

    nowMs.addAndGet(StreamReader.ALIVE_MS);
    assertThat(line(reader)).isEqualTo(": alive");
  }

  /** A calm cluster is no lost connection. */
  @Test
  void pageWaitsForTwoSignsOfLife() throws Exception {
    String source = Files.readString(Path.of("readapi/src/main/web/src/connection.ts"));
    var silence = Pattern.compile("SILENT_MS_MAX = ([0-9_]+);").matcher(source);
    assertThat(silence.find()).isTrue();
    assertThat(Long.parseLong(silence.group(1).replace("_", "")))
        .isGreaterThan(2 * StreamReader.ALIVE_MS);
  }

  @Test
  void all_areToldOfAChangeThatIsMadeOnce() throws Exception {
    var readers = new ArrayList<BufferedReader>();
    for (int i = 0; i < 5; i++) {
      readers.add(read());
      head(readers.getLast());
      next(readers.getLast());
    }
    double before = count("events");
    synchronized (world) {
      world.report("a", new Gpu("a0", 0.75, FakeWorld.GIB));
    }
    for (BufferedReader reader : readers) {
      assertThat(next(reader).name()).isEqualTo("change");
    }
    assertThat(count("events")).isEqualTo(before + 1);
  }

  @Test
  void rightThatIsTaken_endsTheStream() throws Exception {
    BufferedReader reader = read();
    head(reader);
    next(reader);
    refusal = Optional.of(Problem.of(403, "Forbidden", "no more"));
    nowMs.addAndGet(StreamReader.REVIEW_MS);
    while (reader.readLine() != null) {}
    assertThat(head(read())).contains("HTTP/1.1 403");
  }

  /** It cannot be asked; that says nothing of the reader. */
  @Test
  void apiServerThatIsAway_endsTheStreamOnlyAfterAWhile() throws Exception {
    BufferedReader reader = read();
    head(reader);
    next(reader);
    refusal = Optional.of(Problem.unavailable("away"));
    for (int failed = 1; failed < StreamReader.UNREVIEWED_MAX; failed++) {
      nowMs.addAndGet(StreamReader.REVIEW_MS);
      assertThat(line(reader)).isEqualTo(": alive");
    }
    nowMs.addAndGet(StreamReader.REVIEW_MS);
    while (reader.readLine() != null) {}
  }

  @Test
  void oneMoreThanMayRead_isToldToComeBack_andAPlaceIsFreeWhenOneLeaves() throws Exception {
    for (int i = 0; i < EventStream.READERS_MAX; i++) {
      BufferedReader reader = read("Bearer " + i % 2);
      head(reader);
      next(reader);
    }
    BufferedReader more = read();
    assertThat(head(more)).contains("HTTP/1.1 503", "Retry-After: 1");
    sockets.getFirst().close();
    until(() -> gauge("readers") < EventStream.READERS_MAX);
    BufferedReader next = read();
    assertThat(head(next)).contains("HTTP/1.1 200");
  }

  @Test
  void oneToken_getsHalfOfThePlaces() throws Exception {
    for (int i = 0; i < EventStream.READERS_PER_OWNER_MAX; i++) {
      assertThat(head(read("Bearer a"))).contains("HTTP/1.1 200");
    }
    BufferedReader more = read("Bearer a");
    assertThat(head(more)).contains("HTTP/1.1 503");
    assertThat(head(read("Bearer b"))).contains("HTTP/1.1 200");
  }

  /** All readers share a snapshot, so that a hundred of them fit where three would not. */
  @Test
  void slowReaders_shareWhatWaitsForThem_andItIsBounded() throws Exception {
    reportManyGpus();
    for (int i = 0; i < 20; i++) {
      readNothing();
    }
    until(() -> gauge("readers") == 20 && gauge("waiting.bytes") > 0);
    assertThat(gauge("waiting.bytes")).isLessThan(WAITING_BYTES_MAX);
    // Each further picture of the cluster is another one to keep.
    var answers = new ArrayList<String>();
    for (int i = 0; i < 20 && !answers.toString().contains("503"); i++) {
      synchronized (world) {
        world.report("n0", new Gpu("n0-0", 0.5 + i / 100.0, FakeWorld.GIB));
      }
      double before = count("events");
      until(() -> count("events") > before);
      answers.add(head(readNothing()));
    }
    assertThat(answers.toString()).contains("503");
    assertThat(gauge("waiting.bytes")).isLessThanOrEqualTo(WAITING_BYTES_MAX);
  }

  @Test
  void readerThatTakesNothing_isDropped() throws Exception {
    reportManyGpus();
    readNothing();
    until(() -> gauge("waiting.bytes") > 0);
    until(
        () -> {
          nowMs.addAndGet(StreamReader.TAKES_NOTHING_MS_MAX / 2);
          return count("dropped") == 1;
        });
    until(() -> gauge("readers") == 0);
  }

  private void reportManyGpus() {
    synchronized (world) {
      for (int node = 0; node < 1_000; node++) {
        var gpus = new Gpu[16];
        for (int i = 0; i < gpus.length; i++) {
          gpus[i] = new Gpu("n" + node + "-" + i, 0.5, FakeWorld.GIB);
        }
        world.report("n" + node, gpus);
      }
    }
  }

  /** Reads no more than is asked of the result. */
  private BufferedReader readNothing() throws IOException {
    var socket = new Socket();
    sockets.add(socket);
    socket.setReceiveBufferSize(4_096);
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.actualPort()));
    // A token of its own, so that the places of one do not run out.
    ask(socket, "Bearer " + sockets.size());
    return new BufferedReader(
        new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8), 128);
  }

  private double count(String what) {
    return registry.get("tranche.extender.read.api.stream." + what).counter().count();
  }

  private double gauge(String what) {
    return registry.get("tranche.extender.read.api.stream." + what).gauge().value();
  }

  private static void until(BooleanSupplier condition) throws InterruptedException {
    while (!condition.getAsBoolean()) {
      Thread.sleep(50);
    }
  }

  private record Event(String name, long id, JsonObject data) {}

  private BufferedReader read() throws IOException {
    return read("none");
  }

  private BufferedReader read(String authorization) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), server.actualPort());
    sockets.add(socket);
    ask(socket, authorization);
    return new BufferedReader(
        new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
  }

  private static void ask(Socket socket, String authorization) throws IOException {
    String request =
        "GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\n\r\n"
            .formatted(authorization);
    socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
  }

  private static String head(BufferedReader reader) throws IOException {
    var head = new StringBuilder();
    for (String line = reader.readLine(); !line.isEmpty(); line = reader.readLine()) {
      head.append(line).append('\n');
    }
    return head.toString();
  }

  /** Without the sizes of HTTP's chunks, each on a line of its own. */
  private static String line(BufferedReader reader) throws IOException {
    String line = reader.readLine();
    while (line.isEmpty() || line.matches("[0-9a-f]+")) {
      line = reader.readLine();
    }
    return line;
  }

  private static Event next(BufferedReader reader) throws IOException {
    String name = line(reader).substring("event: ".length());
    long id = Long.parseLong(line(reader).substring("id: ".length()));
    return new Event(name, id, new JsonObject(line(reader).substring("data: ".length())));
  }
}
