package dev.tranche.process.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.process.listen.TestAuthority;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.http.BasicBuilder;
import io.fabric8.kubernetes.client.http.HttpClient;
import io.fabric8.kubernetes.client.http.HttpRequest;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.fabric8.kubernetes.client.http.Interceptor;
import io.fabric8.kubernetes.client.http.WebSocket;
import io.fabric8.kubernetes.client.http.WebSocketHandshakeException;
import io.fabric8.kubernetes.client.impl.BaseClient;
import io.vertx.core.Context;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.ServerWebSocket;
import io.vertx.core.http.WebSocketFrame;
import io.vertx.core.internal.http.WebSocketInternal;
import io.vertx.core.net.PemKeyCertOptions;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The Kubernetes client's calls against a server that asks for a client's certificate. */
final class ApiClientIT {
  private static final int LARGE_BYTES = 9_000_000;

  private final Vertx vertx = Vertx.vertx();
  private final AtomicInteger connections = new AtomicInteger();
  private final Promise<ServerWebSocket> socket = Promise.promise();
  private Config config;
  private HttpServer server;
  private HttpClient client;

  @BeforeEach
  void start() throws Exception {
    var authority = new TestAuthority("authority");
    server =
        vertx
            .createHttpServer(
                new HttpServerOptions()
                    .setSsl(true)
                    .setUseAlpn(true)
                    .setClientAuth(ClientAuth.REQUIRED)
                    .setTrustOptions(authority.trusted())
                    .setKeyCertOptions(authority.server()))
            .connectionHandler(connection -> connections.incrementAndGet())
            .requestHandler(this::answer)
            .listen(0, "localhost")
            .await();
    PemKeyCertOptions own = authority.client("extender");
    config =
        new ConfigBuilder(Config.empty())
            .withMasterUrl("https://localhost:" + server.actualPort())
            .withCaCertData(base64(authority.trusted().getCertValues().getFirst()))
            .withClientCertData(base64(own.getCertValue()))
            .withClientKeyData(base64(own.getKeyValue()))
            .withClientKeyAlgo("EC")
            .withRequestRetryBackoffLimit(0)
            .build();
    client = new ApiClient.Transport().newBuilder(config).build();
  }

  private static String base64(Buffer pem) {
    return Base64.getEncoder().encodeToString(pem.getBytes());
  }

  @AfterEach
  void stop() {
    client.close();
    vertx.close().await();
  }

  private void answer(HttpServerRequest request) {
    switch (String.valueOf(request.path())) {
      case "/echo" -> request.body().onSuccess(request.response()::end);
      case "/large" -> request.response().end(Buffer.buffer(new byte[LARGE_BYTES]));
      case "/cut" ->
          request
              .response()
              .setChunked(true)
              .write("half")
              .onSuccess(v -> request.connection().close());
      case "/stall" -> request.response().setChunked(true).write("half");
      case "/watch" -> request.toWebSocket().onComplete(socket);
      case "/old" -> request.response().setStatusCode(410).end();
      default -> {
        // Never answered.
      }
    }
  }

  private URI uri(String path) {
    return URI.create(config.getMasterUrl()).resolve(path);
  }

  private CompletableFuture<HttpResponse<byte[]>> get(String path) {
    return client.sendAsync(client.newHttpRequestBuilder().uri(uri(path)).build(), byte[].class);
  }

  /** The client's own methods, and a request beside them. */
  @Test
  void callsOfEachVerb_endInTime() {
    try (var api =
        new KubernetesClientBuilder()
            .withConfig(config)
            .withHttpClientFactory(new ApiClient.Transport())
            .build()) {
      KubernetesClient hasty = ApiClient.withoutRetries(api, 200);
      var secret =
          new SecretBuilder().withNewMetadata().withName("a").withNamespace("a").endMetadata();
      var kind = hasty.resource(secret.build());
      var request = ApiClient.request(hasty, "/never").build();
      Stream.<ThrowingCallable>of(
              kind::get,
              kind::create,
              kind::update,
              () -> kind.patch(PatchContext.of(PatchType.JSON_MERGE)),
              kind::delete,
              hasty.secrets()::list,
              () -> hasty.getHttpClient().sendAsync(request, String.class).get())
          .forEach(call -> assertThatThrownBy(call).hasStackTraceContaining("timeout"));
    }
  }

  @Test
  void manyCallsAtOnce_shareFewConnections() throws Exception {
    var calls =
        IntStream.range(0, 50)
            .mapToObj(
                i ->
                    client
                        .newHttpRequestBuilder()
                        .uri(uri("/echo"))
                        .post("text/plain", "body" + i)
                        .build())
            .map(request -> client.sendAsync(request, String.class))
            .toList();
    for (int i = 0; i < calls.size(); i++) {
      assertThat(calls.get(i).get(30, TimeUnit.SECONDS).body()).isEqualTo("body" + i);
    }
    assertThat(connections).hasValueLessThan(calls.size());
  }

  @Test
  void bodyLargerThanAnyWindow_comesWhole() throws Exception {
    assertThat(get("/large").get(30, TimeUnit.SECONDS).body()).hasSize(LARGE_BYTES);
  }

  @Test
  @Tag("slow")
  void bodyThatStalls_fails() {
    assertThatThrownBy(() -> get("/stall").get(30, TimeUnit.SECONDS))
        .isInstanceOf(ExecutionException.class);
  }

  @Test
  void callOfClosedClient_fails() {
    client.close();
    assertThatThrownBy(() -> get("/echo").get(30, TimeUnit.SECONDS))
        .isNotInstanceOf(TimeoutException.class);
  }

  @Test
  void bodyThatBreaksOff_fails() {
    assertThatThrownBy(() -> get("/cut").get(30, TimeUnit.SECONDS))
        .isInstanceOf(ExecutionException.class);
  }

  @Test
  void unknownAuthority_isRefused() {
    var other = new ConfigBuilder(config).withCaCertData(null).build();
    try (var stranger = new ApiClient.Transport().newBuilder(other).build()) {
      var request = stranger.newHttpRequestBuilder().uri(uri("/echo")).build();
      assertThatThrownBy(() -> stranger.sendAsync(request, String.class).get(30, TimeUnit.SECONDS))
          .hasCauseInstanceOf(javax.net.ssl.SSLHandshakeException.class);
    }
  }

  /** What it heard, in words; asks for the next message only when it is told to. */
  private static final class Heard implements WebSocket.Listener {
    final LinkedBlockingQueue<String> words = new LinkedBlockingQueue<>();

    @Override
    public void onMessage(WebSocket of, String text) {
      words.add("text " + text);
    }

    @Override
    public void onMessage(WebSocket of, ByteBuffer bytes) {
      words.add("bytes " + StandardCharsets.UTF_8.decode(bytes));
    }

    @Override
    public void onClose(WebSocket of, int code, String reason) {
      words.add("closed " + code + " " + reason);
    }

    @Override
    public void onError(WebSocket of, Throwable error) {
      words.add("failed");
    }

    String next() throws InterruptedException {
      return String.valueOf(words.poll(30, TimeUnit.SECONDS));
    }
  }

  private WebSocket watch(String path, Heard heard) throws Exception {
    return ApiClient.openWebSocket(client.newWebSocketBuilder().uri(uri(path)), heard)
        .get(30, TimeUnit.SECONDS);
  }

  @Test
  void messages_comeWholeAndWhenAskedFor() throws Exception {
    var heard = new Heard();
    WebSocket watch = watch("/watch", heard);
    ServerWebSocket other = socket.future().await(30, TimeUnit.SECONDS);
    other.writeFrame(WebSocketFrame.binaryFrame(Buffer.buffer("one "), false));
    other.writeFrame(WebSocketFrame.continuationFrame(Buffer.buffer("message"), true));
    other.writeTextMessage("another");
    other.close((short) 1000, "over");
    assertThat(heard.next()).isEqualTo("bytes one message");
    // All that follows has been sent; it waits for us.
    get("/echo").get(30, TimeUnit.SECONDS);
    assertThat(heard.words).isEmpty();
    watch.request();
    assertThat(heard.next()).isEqualTo("text another");
    watch.request();
    assertThat(heard.next()).isEqualTo("closed 1000 over");
    assertThat(watch.send(ByteBuffer.allocate(1))).isFalse();
  }

  /** Elsewhere, the first message could come before the client has set its handlers. */
  @Test
  void webSocket_isOpenedOnTheEventLoop() throws Exception {
    var onEventLoop = new CompletableFuture<Boolean>();
    var builder = new ApiClient.Transport().newBuilder(config);
    builder.addOrReplaceInterceptor(
        "thread",
        new Interceptor() {
          @Override
          public void before(BasicBuilder call, HttpRequest request, Interceptor.RequestTags tags) {
            onEventLoop.complete(Context.isOnEventLoopThread());
          }
        });
    try (HttpClient observed = builder.build()) {
      var socket = observed.newWebSocketBuilder().uri(uri("/watch"));
      ApiClient.openWebSocket(socket, new Heard()).get(30, TimeUnit.SECONDS);
    }
    assertThat(onEventLoop).isCompletedWithValue(true);
  }

  /** Of informers, which open their watches there. */
  @Test
  void tasksOfTheClient_runOnTheEventLoop() throws Exception {
    var onEventLoop = new CompletableFuture<Boolean>();
    try (var api = ApiClient.open(ApiClient.serialization(List.of()))) {
      api.adapt(BaseClient.class)
          .getExecutor()
          .execute(() -> onEventLoop.complete(Context.isOnEventLoopThread()));
      assertThat(onEventLoop.get(30, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void ourEnd_isHeardThere() throws Exception {
    WebSocket watch = watch("/watch", new Heard());
    ServerWebSocket other = socket.future().await(30, TimeUnit.SECONDS);
    var ended = new CompletableFuture<Short>();
    other.closeHandler(v -> ended.complete(other.closeStatusCode()));
    assertThat(watch.sendClose(1_000, "enough")).isTrue();
    assertThat(ended.get(30, TimeUnit.SECONDS)).isEqualTo((short) 1_000);
  }

  @Test
  void messageThatIsTooLarge_endsTheSocket() throws Exception {
    var heard = new Heard();
    watch("/watch", heard);
    ServerWebSocket other = socket.future().await(30, TimeUnit.SECONDS);
    var gone = new CompletableFuture<Void>();
    other.closeHandler(gone::complete);
    other.writeBinaryMessage(Buffer.buffer(new byte[ApiClient.Transport.MESSAGE_BYTES_MAX + 1]));
    assertThat(heard.next()).isEqualTo("failed");
    gone.get(20, TimeUnit.SECONDS);
  }

  @Test
  void connectionThatBreaks_isAnError() throws Exception {
    var heard = new Heard();
    watch("/watch", heard);
    var other = (WebSocketInternal) socket.future().await(30, TimeUnit.SECONDS);
    var _ = other.channelHandlerContext().close();
    assertThat(heard.next()).isEqualTo("failed");
  }

  @Test
  void refusedHandshake_saysTheStatus() {
    assertThatThrownBy(() -> watch("/old", new Heard()))
        .cause()
        .isInstanceOfSatisfying(
            WebSocketHandshakeException.class,
            refused -> assertThat(refused.getResponse().code()).isEqualTo(410));
  }
}
