package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.TestAuthority;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.net.SocketAddress;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A kube-scheduler that keeps its connection to an extender that leads no more. */
final class HandOverIT {
  private static final long WITHIN_S = 20;
  private static final String ASKING =
      """
      {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"containers": [
        {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}, "NodeNames": []}
      """;

  private final LimitedTransport transport = new LimitedTransport();
  @AutoClose private final Vertx vertx = transport.vertx(new VertxOptions());
  private final IdleVerbs verbs = IdleVerbs.idle(new SimpleMeterRegistry());

  @ParameterizedTest
  @EnumSource(names = {"HTTP_1_1", "HTTP_2"})
  void whoeverLeads_keepsTheConnection_andWhoDoesNot_answersAndEndsIt(HttpVersion version)
      throws Exception {
    VerbServer server = verbs.server(vertx, transport);
    server.serve(new TestAuthority("ours").server(), null).await();
    var options = new HttpClientOptions().setSsl(true).setTrustAll(true).setVerifyHost(false);
    HttpClientAgent http =
        vertx.createHttpClient(
            options.setUseAlpn(true).setProtocolVersion(version),
            new PoolOptions().setHttp1MaxSize(1));
    Context client = vertx.getOrCreateContext();
    Answer first = ask(client, http, server.port());
    // It offers HTTP/2 over TLS, and takes HTTP/1.1.
    assertThat(first.version()).isEqualTo(HttpVersion.HTTP_1_1);
    assertThat(first.body()).contains("has not read the cluster's");
    Answer second = ask(client, http, server.port());
    assertThat(second.from()).isEqualTo(first.from());

    verbs.world().synced();
    verbs.world().readiness.closeWhile(() -> Optional.of("another leads"), () -> 0);
    Answer third = ask(client, http, server.port());
    assertThat(third.from()).isEqualTo(first.from());
    assertThat(third.body()).contains("another leads");
    third.ended().await(WITHIN_S, TimeUnit.SECONDS);
    // Until here, since a client that is garbage collected ends its connections itself.
    http.close().await();
  }

  /**
   * @param ended completes when the connection is closed
   */
  private record Answer(HttpVersion version, SocketAddress from, String body, Future<Void> ended) {}

  private static Answer ask(Context client, HttpClientAgent http, int port) throws Exception {
    Promise<Answer> answered = Promise.promise();
    client.runOnContext(
        go ->
            http.request(HttpMethod.POST, port, "127.0.0.1", "/filter")
                .compose(HandOverIT::answer)
                .onComplete(answered));
    return answered.future().await(WITHIN_S, TimeUnit.SECONDS);
  }

  private static Future<Answer> answer(HttpClientRequest request) {
    Promise<Void> ended = Promise.promise();
    SocketAddress from = request.connection().localAddress();
    request.connection().closeHandler(closed -> ended.tryComplete());
    return request
        .send(ASKING)
        .compose(response -> response.body())
        .map(body -> new Answer(request.version(), from, body.toString(), ended.future()));
  }
}
