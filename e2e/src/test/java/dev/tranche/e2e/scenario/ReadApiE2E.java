package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.PodSpecs;
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
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The read API by {@code kubectl port-forward}, and by the tokens of ServiceAccounts. */
@Order(25)
class ReadApiE2E extends Scenario {
  private static final int PORT = 9444;
  private static final String SERVICE = "tranche-extender." + Tranche.NAMESPACE + ".svc";

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void unbind() {
    vertx.close().await();
    kubectl("delete", "clusterrolebinding", "--ignore-not-found", "viewer-" + namespace);
    kubectl("delete", "clusterrole", "--ignore-not-found", "viewer-" + namespace);
  }

  @Test
  void portForward_needsNoToken_andTellsWhoHoldsWhatAndWhyOthersWait() throws Exception {
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("one", "0.8")));
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("two", "0.8")));
    allRunning(2);
    String uuid = assigned(get("one")).iterator().next();
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("three", "0.3")));
    pendingMessage("three");
    try (var api = new LocalApi(tranche().client(), anyExtender())) {
      Await.until("the API to tell of the pod", 30, () -> held(api, uuid).contains(namespace));
      JsonNode gpu = api.get("/api/v1/gpus?uuid=" + uuid).json().at("/items/0");
      assertThat(gpu.at("/node").asText()).isEqualTo(ALPHA);
      assertThat(gpu.at("/granted/gpus").asText()).isEqualTo("800m");
      assertThat(gpu.at("/holders/0/name").asText()).isEqualTo("one");

      JsonNode summary = api.get("/api/v1/summary").json();
      assertThat(summary.at("/cluster/total/gpus").asText()).isEqualTo("6");
      assertThat(summary.at("/cluster/granted/gpus").asText()).isEqualTo("1600m");
      assertThat(summary.at("/waitingPods/total").asInt()).isEqualTo(1);

      JsonNode pod = api.get("/api/v1/pods/" + namespace + "/three").json();
      assertThat(pod.at("/state").asText()).isEqualTo("Waiting");
      // Only the replica that kube-scheduler asks has decided.
      assertThat(pod.at("/waiting/reason").asText()).isIn("Fragmented", "NotFiltered");
      assertThat(pod.at("/decision/refused/0/node").asText()).isEqualTo(ALPHA);
      assertThat(pod.at("/kubeScheduler/message").asText()).isNotEmpty();
      assertThat(api.get("/api/v1/openapi.json").json().at("/openapi").asText()).startsWith("3.1");
    }
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

  /** As an account of Prometheus has it, which may not read the API. */
  @Test
  void metricsOfPods_areForWhoMayGetMetrics() throws Exception {
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("measured", "0.3")));
    running("measured");
    kubectl("-n", namespace, "create", "serviceaccount", "prometheus");
    String token = kubectl("-n", namespace, "create", "token", "prometheus").strip();
    try (LocalPortForward forward = forward()) {
      assertThat(remote(forward, "/metrics", null).status()).isEqualTo(401);
      assertThat(remote(forward, "/metrics", token).status()).isEqualTo(403);
      kubectl(
          "create",
          "clusterrole",
          "viewer-" + namespace,
          "--verb=get",
          "--non-resource-url=/metrics");
      kubectl(
          "create",
          "clusterrolebinding",
          "viewer-" + namespace,
          "--clusterrole=viewer-" + namespace,
          "--serviceaccount=" + namespace + ":prometheus");
      Await.until(
          "the right to count", 30, () -> remote(forward, "/metrics", token).status() == 200);
      Await.until(
          "the pod's grant",
          30,
          () ->
              remote(forward, "/metrics", token)
                  .body()
                  .lines()
                  .anyMatch(
                      line ->
                          line.startsWith("tranche_container_gpu_memory_granted_bytes{")
                              && line.contains("namespace=\"" + namespace + "\"")
                              && line.contains("pod=\"measured\"")));
      assertThat(remote(forward, token).status()).isEqualTo(403);
    }
  }

  private static String held(LocalApi api, String uuid) {
    try {
      return api.get("/api/v1/gpus?uuid=" + uuid).body();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
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

  private LocalApi.Answer remote(LocalPortForward forward, @Nullable String token) {
    return remote(forward, "/api/v1/gpus", token);
  }

  /**
   * As {@code curl --cacert --connect-to} does: the certificate is the Service's, wherever the
   * connection goes.
   */
  private LocalApi.Answer remote(LocalPortForward forward, String path, @Nullable String token) {
    var request =
        new RequestOptions()
            .setServer(SocketAddress.inetSocketAddress(forward.getLocalPort(), "127.0.0.1"))
            .setHost(SERVICE)
            .setPort(443)
            .setURI(path);
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
