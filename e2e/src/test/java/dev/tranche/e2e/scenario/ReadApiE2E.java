package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.LocalPortForward;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The read API by the tokens of ServiceAccounts. */
@Order(25)
class ReadApiE2E extends Scenario {
  private static final int PORT = 9444;
  private static final String SERVICE = "tranche-extender." + Tranche.NAMESPACE + ".svc";

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void unbind() {
    vertx.close().await();
    kubectl("delete", "clusterrolebinding", "--ignore-not-found", "viewer-" + namespace);
  }

  @Test
  void token_readsOnlyWithTheClusterRole() throws Exception {
    kubectl("-n", namespace, "create", "serviceaccount", "viewer");
    String token = kubectl("-n", namespace, "create", "token", "viewer").strip();
    try (LocalPortForward forward = forward()) {
      assertThat(remote(forward, null).status()).isEqualTo(401);
      assertThat(remote(forward, "nonsense").status()).isEqualTo(401);
      LocalApi.Answer forbidden = remote(forward, token);
      assertThat(forbidden.status()).as("though it may get /api/*: %s", forbidden).isEqualTo(403);
      assertThat(forbidden.json().at("/detail").asText())
          .contains("system:serviceaccount:" + namespace + ":viewer", "ClusterRole tranche-viewer");

      kubectl(
          "create",
          "clusterrolebinding",
          "viewer-" + namespace,
          "--clusterrole=tranche-viewer",
          "--serviceaccount=" + namespace + ":viewer");
      Await.until("the right to count", 30, () -> remote(forward, token).status() == 200);
      assertThat(remote(forward, token).json().at("/items")).hasSize(6);
    }
  }

  /** All of them know the same. */
  private static Pod anyExtender() {
    return tranche().parts("extender").stream()
        .filter(p -> p.getMetadata().getDeletionTimestamp() == null)
        .findFirst()
        .orElseThrow();
  }

  private static LocalPortForward forward() {
    return tranche()
        .client()
        .pods()
        .inNamespace(Tranche.NAMESPACE)
        .withName(anyExtender().getMetadata().getName())
        .portForward(PORT);
  }

  /**
   * As {@code curl --cacert --connect-to} does: the certificate is the Service's, wherever the
   * connection goes.
   */
  private LocalApi.Answer remote(LocalPortForward forward, @Nullable String token) {
    var request =
        new RequestOptions()
            .setServer(SocketAddress.inetSocketAddress(forward.getLocalPort(), "127.0.0.1"))
            .setHost(SERVICE)
            .setPort(443)
            .setURI("/api/v1/gpus");
    if (token != null) {
      request.putHeader("Authorization", "Bearer " + token);
    }
    HttpClient http =
        vertx.createHttpClient(
            new HttpClientOptions()
                .setSsl(true)
                .setTrustOptions(new PemTrustOptions().addCertValue(Buffer.buffer(authority()))));
    try {
      return http.request(request)
          .compose(sent -> sent.send().compose(ReadApiE2E::read))
          .await(20, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError(e);
    } finally {
      http.close().await();
    }
  }

  private static Future<LocalApi.Answer> read(HttpClientResponse answer) {
    return answer.body().map(body -> new LocalApi.Answer(answer.statusCode(), body.toString()));
  }

  /** That the node plugins trust, too. */
  private static String authority() {
    return tranche()
        .client()
        .configMaps()
        .inNamespace(Tranche.NAMESPACE)
        .withName("tranche-ca")
        .get()
        .getData()
        .get("ca.crt");
  }

  private static String kubectl(String... arguments) {
    return tranche().cluster().kubectl(arguments).orFail("kubectl " + arguments[0]);
  }
}
