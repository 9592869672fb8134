package dev.tranche.extender.http;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.loop.Loop;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** More than the extender can take at once. */
final class OverloadIT {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @AutoClose private final Vertx vertx = Vertx.vertx();
  // A client that is garbage collected closes its connections.
  private final NetClient client = vertx.createNetClient();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final HttpClient http = HttpClient.newHttpClient();
  private HttpServer server;
  private VerbRoutes routes;

  @BeforeEach
  void start() {
    serve(VerbRoutes.READ_WITHIN_MS);
  }

  private void serve(long readWithinMs) {
    routes =
        IdleVerbs.idle(registry).routes(vertx, new Loop(vertx.getOrCreateContext()), readWithinMs);
    server = vertx.createHttpServer().requestHandler(routes::handle).listen(0, "127.0.0.1").await();
  }

  @Test
  void bodiesBeyondTheBound_areRefusedUnreadWithASentence() throws Exception {
    // On a busy machine the first would be hung up on before the last one comes.
    server.close().await();
    serve(10 * PATIENCE.toMillis());
    var slow = new ArrayList<NetSocket>();
    int many = VerbRoutes.BYTES_MAX / VerbRoutes.BODY_BYTES_MAX;
    for (int i = 0; i < many; i++) {
      NetSocket socket = client.connect(server.actualPort(), "127.0.0.1").await();
      socket
          .write(
              "POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: "
                  + VerbRoutes.BODY_BYTES_MAX
                  + "\r\n\r\n{")
          .await();
      slow.add(socket);
    }
    until(() -> routes.places.availablePermits() == VerbRoutes.CALLS_MAX - many);
    assertThat(post("/filter").body()).contains("too many requests are queued");
    assertThat(post("/bind").body()).contains("too many requests are queued");
    assertThat(post("/prioritize").body()).isEqualTo("[]");
    assertThat(post("/preempt").statusCode()).isEqualTo(500);
    assertThat(registry.get("tranche.extender.verbs.shed").tag("verb", "filter").counter().count())
        .isOne();
    slow.forEach(NetSocket::close);
    until(() -> routes.places.availablePermits() == VerbRoutes.CALLS_MAX);
    assertThat(post("/filter").body()).contains("has no NodeNames");
  }

  @Test
  void bodyThatDoesNotCome_isHungUpOn() throws Exception {
    server.close().await();
    serve(1);
    var closed = new CompletableFuture<Void>();
    NetSocket socket = client.connect(server.actualPort(), "127.0.0.1").await();
    socket.closeHandler(closed::complete);
    socket.write("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{").await();
    closed.get();
    until(() -> routes.places.availablePermits() == VerbRoutes.CALLS_MAX);
    assertThat(registry.get("tranche.extender.verbs.shed").tag("verb", "filter").counter().count())
        .isOne();
  }

  /** Whole nodes, of a scheduler that is not told to name them. */
  @Test
  void bodyBeyondItsLimit_isRefusedWithASentence_thatNamesTheOption() throws Exception {
    String large = "x".repeat(4 * VerbRoutes.BODY_BYTES_MAX);
    for (String path : List.of("/filter", "/bind", "/preempt")) {
      var answer = post(path, large);
      assertThat(answer.statusCode()).isEqualTo(path.equals("/preempt") ? 500 : 200);
      assertThat(new JsonObject(answer.body()).getString("Error"))
          .contains("more than 4194304 bytes", "nodeCacheCapable: true");
    }
    assertThat(post("/prioritize", large).body()).isEqualTo("[]");
    assertThat(registry.get("tranche.extender.verbs.shed").tag("verb", "filter").counter().count())
        .isOne();
  }

  @Test
  void bodyOfAnEndlessLength_isRefusedAtOnce() throws Exception {
    assertThat(answered("Content-Length: 99999999999\r\n\r\n{"))
        .startsWith("HTTP/1.1 200")
        .contains("more than 4194304 bytes");
  }

  /** What a filter is answered whose last header and body these are, as far as one piece tells. */
  private String answered(String rest) throws Exception {
    var answer = new CompletableFuture<String>();
    NetSocket socket = client.connect(server.actualPort(), "127.0.0.1").await();
    socket.handler(piece -> answer.complete(piece.toString()));
    var _ = socket.write("POST /filter HTTP/1.1\r\nHost: x\r\n" + rest);
    return answer.get(20, TimeUnit.SECONDS);
  }

  /** Nothing but 200 shows its words, but of preemption 200 is taken for a decision. */
  @Test
  void bodyThatIsNone_isAnErrorOfEachVerbsOwnKind() throws Exception {
    errorsOfEachKind("{\"Pod\": {\"metadata\"");
  }

  @Test
  void largeBody_whichAWorkerReads_isAnsweredAsOthersAre() throws Exception {
    String large = "x".repeat(VerbRoutes.READ_HERE_BYTES_MAX);
    errorsOfEachKind("{\"Pod\": {\"metadata\": \"" + large);
    assertThat(post("/filter", "{\"Other\": \"" + large + "\"}").body())
        .contains("has no NodeNames");
    until(() -> routes.places.availablePermits() == VerbRoutes.CALLS_MAX);
  }

  private void errorsOfEachKind(String none) throws Exception {
    for (String path : List.of("/filter", "/bind")) {
      var answer = post(path, none);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(new JsonObject(answer.body()).getString("Error"))
          .contains("not the extender's JSON");
    }
    assertThat(post("/preempt", none).statusCode()).isEqualTo(500);
    assertThat(post("/prioritize", none).body()).isEqualTo("[]");
  }

  private HttpResponse<String> post(String path) throws Exception {
    return post(path, "{}");
  }

  private HttpResponse<String> post(String path, String body) throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.actualPort() + path))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }
}
