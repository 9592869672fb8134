package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.net.SocketAddress;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A kube-scheduler that keeps its connection to an extender that leads no more. */
final class HandOverIT {
  private final Vertx vertx = Vertx.vertx();
  private final Verbs verbs = Verbs.idle(new ExtenderMetrics(new SimpleMeterRegistry()));

  @AfterEach
  void stop() {
    vertx.close().await();
  }

  @ParameterizedTest
  @EnumSource(names = {"HTTP_1_1", "HTTP_2"})
  void whoeverLeads_keepsTheConnection_andWhoDoesNot_answersAndEndsIt(HttpVersion version)
      throws Exception {
    var server =
        new VerbServer(
            SocketAddress.inetSocketAddress(0, "127.0.0.1"),
            verbs.core(),
            loop -> verbs.routes(loop, Gate.READ_WITHIN_MS));
    vertx.deployVerticle(server).await();
    server.listen(new TestAuthority("ours").server(), null).await();
    var options = new HttpClientOptions().setSsl(true).setTrustAll(true).setVerifyHost(false);
    HttpClientAgent http =
        vertx.createHttpClient(
            options.setUseAlpn(true).setProtocolVersion(version),
            new PoolOptions().setHttp1MaxSize(1).setHttp2MaxSize(1));
    HttpClientRequest first = request(http, server.port());
    assertThat(first.version()).isEqualTo(version);
    assertThat(answer(first)).contains("has not read the cluster's");
    HttpClientRequest second = request(http, server.port());
    assertThat(second.connection().localAddress()).isEqualTo(first.connection().localAddress());
    assertThat(answer(second)).contains("has not read the cluster's");

    verbs.core().synced();
    verbs.core().gate(() -> Optional.of("another leads"));
    HttpClientRequest third = request(http, server.port());
    assertThat(third.connection().localAddress()).isEqualTo(first.connection().localAddress());
    Promise<Void> ended = Promise.promise();
    third.connection().closeHandler(ended::complete);
    assertThat(answer(third)).contains("another leads");
    ended.future().await();
  }

  private static HttpClientRequest request(HttpClientAgent http, int port) {
    return http.request(HttpMethod.POST, port, "127.0.0.1", "/filter").await();
  }

  private static String answer(HttpClientRequest request) {
    String asking =
        """
        {"Pod": {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"containers": [
          {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}, "NodeNames": []}
        """;
    Future<String> body =
        request.send(asking).compose(response -> response.body()).map(Object::toString);
    return body.await();
  }
}
