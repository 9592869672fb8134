package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.process.meters.Meters;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How much one port does at once, and for how long. */
final class EndpointIT {
  private static final long LONG_MS = 60_000;
  private static final Answer FOUND = new Answer.Written(Buffer.buffer("{}"), false);

  @AutoClose private final Vertx vertx = Vertx.vertx();
  @AutoClose private final HttpClient http = HttpClient.newHttpClient();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final ReadApiMetrics metrics =
      new ReadApiMetrics(new Meters(registry, "tranche.extender"));

  /** Answers that are being made. */
  private final BlockingQueue<Promise<Answer>> made = new LinkedBlockingQueue<>();

  @Test
  void moreThanAreAnsweredAtOnce_areToldToComeBack() throws Exception {
    HttpServer server = serve(LONG_MS);
    var first = new ArrayList<CompletableFuture<HttpResponse<String>>>();
    var promises = new ArrayList<Promise<Answer>>();
    for (int i = 0; i < Endpoint.AT_ONCE_MAX; i++) {
      first.add(get(server));
      promises.add(made.take());
    }
    HttpResponse<String> more = get(server).get();
    assertThat(more.statusCode()).isEqualTo(503);
    assertThat(more.headers().firstValue("Retry-After")).hasValue("1");
    OpenApi.assertIs("Problem", more.body());
    assertThat(count("shed")).isEqualTo(1);

    promises.forEach(promise -> promise.complete(FOUND));
    for (var answer : first) {
      assertThat(answer.get().statusCode()).isEqualTo(200);
    }
    CompletableFuture<HttpResponse<String>> next = get(server);
    made.take().complete(FOUND);
    assertThat(next.get().statusCode()).isEqualTo(200);
  }

  @Test
  void answerThatTakesTooLong_isGivenUp_andItsPlaceIsKeptUntilTheWorkIsDone() throws Exception {
    HttpServer server = serve(100);
    var promises = new ArrayList<Promise<Answer>>();
    for (int i = 0; i < Endpoint.AT_ONCE_MAX; i++) {
      HttpResponse<String> late = get(server).get();
      assertThat(late.statusCode()).isEqualTo(503);
      assertThat(new JsonObject(late.body()).getString("detail")).contains("took longer");
      promises.add(made.take());
    }
    assertThat(count("timeouts")).isEqualTo(Endpoint.AT_ONCE_MAX);
    assertThat(new JsonObject(get(server).get().body()).getString("detail"))
        .contains("are being answered");
    promises.forEach(promise -> promise.complete(FOUND));
  }

  private static Socket postHalf(HttpServer server) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), server.actualPort());
    socket.setSoTimeout(30_000);
    String half = "POST /api/v1/what-if HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{";
    socket.getOutputStream().write(half.getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  /** Eight of them shut out all readers of a port. */
  @Test
  void bodiesThatDoNotCome_takeNoPlace() throws Exception {
    HttpServer server = serve(LONG_MS);
    var sockets = new ArrayList<Socket>();
    try {
      for (int i = 0; i < 2 * Endpoint.AT_ONCE_MAX; i++) {
        sockets.add(postHalf(server));
      }
      CompletableFuture<HttpResponse<String>> answer = get(server);
      made.take().complete(FOUND);
      assertThat(answer.get().statusCode()).isEqualTo(200);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  @Test
  void bodyThatDrips_givesItsPlaceBackWhenItIsCut() throws Exception {
    HttpServer server = serve(100);
    var sockets = new ArrayList<Socket>();
    try {
      for (int i = 0; i < Endpoint.AT_ONCE_MAX; i++) {
        sockets.add(postHalf(server));
      }
      for (Socket socket : sockets) {
        assertThat(new String(socket.getInputStream().readNBytes(12), StandardCharsets.US_ASCII))
            .isEqualTo("HTTP/1.1 503");
      }
      // A place is given back a moment after the answer, and a slow machine may be cut itself.
      int status = 503;
      for (int i = 0; i < 100 && status == 503; i++) {
        CompletableFuture<HttpResponse<String>> next = get(server);
        Promise<Answer> answer = made.poll(200, TimeUnit.MILLISECONDS);
        if (answer != null) {
          answer.complete(FOUND);
        }
        status = next.get().statusCode();
      }
      assertThat(status).isEqualTo(200);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  @Test
  void defect_isSaidWithoutItsWords_andFreesItsPlace() throws Exception {
    HttpServer server = serve(LONG_MS);
    for (int i = 0; i <= Endpoint.AT_ONCE_MAX; i++) {
      CompletableFuture<HttpResponse<String>> answer = get(server);
      made.take().fail("a secret of ours");
      assertThat(answer.get().statusCode()).isEqualTo(500);
      assertThat(answer.get().body()).doesNotContain("secret");
    }
  }

  @Test
  void pathsThatAreNotThere_askNoGuard() throws Exception {
    HttpServer server =
        listen(
            new Endpoint(
                vertx,
                question -> Future.succeededFuture(FOUND),
                (request, route) -> Future.failedFuture("the guard was asked"),
                LONG_MS,
                metrics));
    assertThat(get(server, "/api/v1/nothing").get().statusCode()).isEqualTo(404);
    assertThat(get(server, "/api/v1/gpus").get().statusCode()).isEqualTo(500);
  }

  /** A page of a stranger may post to this host, though not read the answer. */
  @ParameterizedTest
  @CsvSource({"cross-site, 403", "same-site, 403", "same-origin, 200", "none, 200"})
  void pagesOfOthers_mayNotAskThroughTheBrowser(String site, int status) throws Exception {
    HttpServer server = listen(answering(new LocalHosts()));
    var request = HttpRequest.newBuilder(uri(server, "/api/v1/gpus"));
    HttpResponse<String> answer =
        http.send(
            request.header("Sec-Fetch-Site", site).build(), HttpResponse.BodyHandlers.ofString());
    assertThat(answer.statusCode()).isEqualTo(status);
    if (status == 403) {
      OpenApi.assertIs("Problem", answer.body());
      assertThat(answer.body()).contains("Sec-Fetch-Site", site);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "text/plain, 415",
    "application/x-www-form-urlencoded, 415",
    "application/jsonx, 415",
    "application/json, 200",
    "Application/JSON; charset=utf-8, 200",
    "'', 200"
  })
  void whatIsPosted_isJson_orSaysNotWhatItIs(String type, int status) throws Exception {
    HttpServer server = listen(answering(new LocalHosts()));
    var request =
        HttpRequest.newBuilder(uri(server, "/api/v1/what-if"))
            .POST(HttpRequest.BodyPublishers.ofString("{}"));
    if (!type.isEmpty()) {
      request.header("Content-Type", type);
    }
    HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    assertThat(answer.statusCode()).isEqualTo(status);
    if (status == 415) {
      OpenApi.assertIs("Problem", answer.body());
    }
  }

  private Endpoint answering(Endpoint.Guard guard) {
    return new Endpoint(vertx, question -> Future.succeededFuture(FOUND), guard, LONG_MS, metrics);
  }

  private static URI uri(HttpServer server, String path) {
    return URI.create("http://127.0.0.1:" + server.actualPort() + path);
  }

  private double count(String what) {
    return registry.get("tranche.extender.read.api." + what).counter().count();
  }

  private HttpServer serve(long answeredMsMax) {
    return listen(
        new Endpoint(
            vertx,
            question -> {
              Promise<Answer> promise = Promise.promise();
              made.add(promise);
              return promise.future();
            },
            (request, route) -> Future.succeededFuture(Optional.empty()),
            answeredMsMax,
            metrics));
  }

  private HttpServer listen(Endpoint endpoint) {
    return vertx.createHttpServer().requestHandler(endpoint).listen(0, "127.0.0.1").await();
  }

  private CompletableFuture<HttpResponse<String>> get(HttpServer server) {
    return get(server, "/api/v1/gpus");
  }

  private CompletableFuture<HttpResponse<String>> get(HttpServer server, String path) {
    return http.sendAsync(
        HttpRequest.newBuilder(uri(server, path)).build(), HttpResponse.BodyHandlers.ofString());
  }
}
