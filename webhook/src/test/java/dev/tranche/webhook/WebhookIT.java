package dev.tranche.webhook;

import static dev.tranche.process.Until.until;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.review.FractionHandler;
import dev.tranche.webhook.tls.Pairs;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfigurationBuilder;
import io.fabric8.kubernetes.api.model.node.v1.RuntimeClassBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.SocketAddress;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The whole process but its main method, over real sockets, against a stand-in API server. */
class WebhookIT {
  private final MockApi api = new MockApi();
  private final KubernetesClient client = api.client();

  private final Vertx vertx = Vertx.vertx();

  @SuppressWarnings("NullAway.Init")
  private Webhook webhook;

  @BeforeEach
  void start() {
    webhook =
        api.webhook(
            Pairs.config(MockApi.NAMESPACE, Duration.ofDays(3650), Duration.ofSeconds(30), false));
    webhook.start().await();
  }

  @AfterEach
  void stop() {
    webhook.stop();
    vertx.close().await();
    api.close();
  }

  @Test
  void review_isAnsweredOverTls_withACertificateThatTheCaBundleVerifies() throws Exception {
    assertThat(status("/healthz")).isEqualTo(200);
    until(
        "what is missing", () -> text("/readyz").contains("MutatingWebhookConfiguration tranche"));
    api.createConfiguration(ReviewKind.FRACTION_PATH);
    until("readiness", () -> status("/readyz") == 200);
    String bundle = api.caBundle();
    assertThat(bundle)
        .isEqualTo(
            client
                .configMaps()
                .inNamespace(MockApi.NAMESPACE)
                .withName("tranche-ca")
                .get()
                .getData()
                .get("ca.crt"));

    JsonNode response = review(bundle, "deployment").path("response");
    assertThat(response.path("allowed").asBoolean()).isTrue();
    assertThat(response.path("patchType").asText()).isEqualTo("JSONPatch");
    assertThat(text("/metrics"))
        .contains(
            "tranche_webhook_admissions_total{outcome=\"patched\",reason=\"none\",review=\"fraction\"}"
                + " 1.0")
        .contains(
            "tranche_webhook_admissions_total{outcome=\"denied\",reason=\"too_large\",review=\"guard\"}"
                + " 0.0")
        .contains("tranche_webhook_certificate_start_timestamp_seconds{certificate=\"ca\"}")
        .contains("tranche_webhook_certificate_expiry_timestamp_seconds{certificate=\"extender\"}")
        .contains("tranche_webhook_admission_duration_seconds_bucket{le=\"0.001\"}")
        .contains("tranche_webhook_in_flight_bytes 0.0")
        .contains("tranche_webhook_nodes 0.0");
  }

  @Test
  void nodesAndRuntimeClass_areSeenAsTheyCome() throws Exception {
    api.createConfiguration(ReviewKind.FRACTION_PATH);
    until("readiness", () -> status("/readyz") == 200);
    assertThat(patch("deployment")).doesNotContain("runtimeClassName");
    client
        .resource(
            new RuntimeClassBuilder()
                .withNewMetadata()
                .withName("nvidia")
                .endMetadata()
                .withHandler("nvidia")
                .build())
        .create();
    createLabelledNode();
    until("the runtime class", () -> patch("deployment").contains("runtimeClassName"));
    until("the node", () -> patch("deployment").contains("replicas-per-gpu\",\"value\":\"4\""));
    // Ours decides, also on a node without NVIDIA's label.
    client
        .nodes()
        .withName("gpu-1")
        .edit(
            node ->
                new NodeBuilder(node)
                    .editMetadata()
                    .removeFromLabels("tranche.dev/replicas-per-gpu")
                    .addToLabels("tranche.dev/replicas-per-gpu", "5")
                    .endMetadata()
                    .build());
    until("its report", () -> patch("deployment").contains("replicas-per-gpu\",\"value\":\"5\""));
    client.nodes().withName("gpu-1").delete();
    until("its end", () -> patch("deployment").contains("replicas-per-gpu\",\"value\":\"10\""));
  }

  private void createLabelledNode() {
    client
        .resource(
            new NodeBuilder()
                .withNewMetadata()
                .withName("gpu-1")
                .addToLabels("tranche.dev/replicas-per-gpu", "4")
                .endMetadata()
                .build())
        .create();
  }

  /** Its label may be on the way, unless it was there before the webhook. */
  @Test
  void nodeThatBeginsToOfferGpus_isNoForeignOneYet_butOneOfTheFirstListIs() {
    api.createConfiguration(ReviewKind.FRACTION_PATH);
    until("readiness", () -> status("/readyz") == 200);
    client
        .resource(
            new NodeBuilder()
                .withNewMetadata()
                .withName("aci-1")
                .endMetadata()
                .withNewStatus()
                .addToAllocatable("nvidia.com/gpu", new Quantity("1"))
                .endStatus()
                .build())
        .create();
    createLabelledNode();
    until("both nodes", () -> text("/metrics").contains("tranche_webhook_nodes 1.0"));
    client.nodes().withName("gpu-1").delete();
    until("its end", () -> text("/metrics").contains("tranche_webhook_nodes 0.0"));
    assertThat(patch("plain-gpu")).contains("schedulerName");
    webhook.stop();
    start();
    until("readiness", () -> status("/readyz") == 200);
    assertThat(patch("plain-gpu")).doesNotContain("schedulerName");
    client.nodes().withName("aci-1").delete();
    until("its end", () -> patch("plain-gpu").contains("schedulerName"));
  }

  @Test
  void path_saysWhatAPlainNumberCounts() {
    api.createConfiguration(ReviewKind.FRACTION_PATH);
    until("readiness", () -> status("/readyz") == 200);
    assertThat(patch(ReviewKind.FRACTION_PATH, "plain-gpu")).doesNotContain("gpus-requested");
    assertThat(patch(FractionHandler.PATH_PLAIN_GPUS, "plain-gpu")).contains("gpus-requested");
    assertThat(patch(FractionHandler.PATH_UNCHANGED, "plain-gpu"))
        .contains("DoesNotExist")
        .doesNotContain("schedulerName");
  }

  @Test
  void caBundle_isPutBack_whenSomebodyTakesItAway() {
    api.createConfiguration(ReviewKind.FRACTION_PATH);
    until("readiness", () -> status("/readyz") == 200);
    String before = api.caBundle();
    client
        .admissionRegistration()
        .v1()
        .mutatingWebhookConfigurations()
        .withName("tranche")
        .edit(
            c ->
                new MutatingWebhookConfigurationBuilder(c)
                    .editFirstWebhook()
                    .editClientConfig()
                    .withCaBundle(null)
                    .endClientConfig()
                    .endWebhook()
                    .build());
    until("the caBundle", () -> api.caBundle().equals(before));
  }

  @Test
  void renewedCertificate_isServed_withoutARestart() throws Exception {
    api.createConfiguration(ReviewKind.FRACTION_PATH);
    until("readiness", () -> status("/readyz") == 200);
    String bundle = api.caBundle();
    String first = servedCertificate(bundle);
    // The certificate is made anew when somebody empties the Secret, as when its time has come.
    client
        .secrets()
        .inNamespace(MockApi.NAMESPACE)
        .withName("tranche-webhook-tls")
        .edit(secret -> new SecretBuilder(secret).withData(Map.of()).build());
    until("another certificate", () -> !servedCertificate(bundle).equals(first));
    assertThat(review(bundle, "deployment").at("/response/allowed").asBoolean()).isTrue();
  }

  @Test
  void bodies_thatAreNoReviews_areRefused() throws Exception {
    api.createConfiguration(ReviewKind.FRACTION_PATH);
    until("readiness", () -> status("/readyz") == 200);
    assertThat(post(api.caBundle(), Buffer.buffer("{}")).status()).isEqualTo(400);
    assertThat(post(api.caBundle(), Buffer.buffer("a=b")).status()).isEqualTo(400);
    assertThat(post(api.caBundle(), Buffer.buffer(new byte[(4 << 20) + 1])).status())
        .isEqualTo(413);
  }

  private String patch(String name) {
    return patch(ReviewKind.FRACTION_PATH, name);
  }

  private String patch(String path, String name) {
    Answer answer = post(api.caBundle(), path, Buffer.buffer(Reviews.bytes(name)));
    String encoded = Reviews.json(answer.body()).at("/response/patch").asText();
    return new String(Base64.getDecoder().decode(encoded), UTF_8);
  }

  private JsonNode review(String bundle, String name) {
    return Reviews.json(post(bundle, Buffer.buffer(Reviews.bytes(name))).body());
  }

  private String servedCertificate(String bundle) {
    return post(bundle, Buffer.buffer("{}")).certificate();
  }

  private Answer post(String bundle, Buffer body) {
    return post(bundle, ReviewKind.FRACTION_PATH, body);
  }

  private Answer post(String bundle, String path, Buffer body) {
    return send(
        new HttpClientOptions()
            .setSsl(true)
            .setTrustOptions(new PemTrustOptions().addCertValue(Buffer.buffer(bundle))),
        new RequestOptions()
            .setMethod(HttpMethod.POST)
            .setServer(SocketAddress.inetSocketAddress(webhook.port(), "127.0.0.1"))
            .setHost("tranche-webhook." + MockApi.NAMESPACE + ".svc")
            .setURI(path)
            .putHeader("content-type", "application/json"),
        body);
  }

  private int status(String path) {
    return get(path).status();
  }

  private String text(String path) {
    return get(path).body();
  }

  private Answer get(String path) {
    return send(
        new HttpClientOptions(),
        new RequestOptions().setHost("127.0.0.1").setPort(webhook.metricsPort()).setURI(path),
        Buffer.buffer());
  }

  private record Answer(int status, String body, String certificate) {}

  /** On a connection of its own, so that it sees the certificate of the moment. */
  private Answer send(HttpClientOptions options, RequestOptions request, Buffer body) {
    HttpClient http = vertx.createHttpClient(options);
    try {
      return http.request(request)
          .compose(
              sent -> {
                String certificate = options.isSsl() ? certificate(sent) : "";
                return sent.send(body)
                    .compose(
                        response ->
                            response
                                .body()
                                .map(
                                    text ->
                                        new Answer(
                                            response.statusCode(), text.toString(), certificate)));
              })
          .await(20, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError(e);
    } finally {
      http.close().await();
    }
  }

  private static String certificate(HttpClientRequest request) {
    try {
      return request.connection().peerCertificates().getFirst().toString();
    } catch (SSLPeerUnverifiedException e) {
      throw new AssertionError(e);
    }
  }
}
