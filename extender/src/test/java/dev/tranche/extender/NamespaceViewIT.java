package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.extender.readapi.OpenApi;
import dev.tranche.extender.stream.FakeNode;
import dev.tranche.process.log.Logged;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.SelfSignedCertificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a tenant sees, with a token and through the API server. The tenants {@code team-a} and
 * {@code team-b} share a GPU.
 */
@SuppressWarnings("NullAway.Init")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class NamespaceViewIT {
  private static final long GIB = 1L << 30;
  private static final String NAMESPACES = "/apis/read.tranche.dev/v1/namespaces/";
  private static final String TEAM_A = NAMESPACES + "team-a/";
  private static final String TENANT = "user-a";
  private static final String VIEWER = "user-viewer";
  private static final String TABLE =
      "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

  private final SelfSignedCertificate proxy = SelfSignedCertificate.create("front-proxy");
  private final SelfSignedCertificate kubelet = SelfSignedCertificate.create("kubelet");
  private final Logged logged = Logged.by(CertifiedPorts.class);
  private MockCluster cluster;
  private Vertx vertx;
  private HttpClient http;
  private HttpClient asProxy;
  private HttpClient asKubelet;
  private RunningExtender running;
  private Extender extender;
  private FakeNode node;

  /** Status and body of an answer. */
  private record Answer(int status, String type, String body, Map<String, String> headers) {
    JsonObject json() {
      return new JsonObject(body);
    }
  }

  @BeforeAll
  void start() throws Exception {
    cluster = new MockCluster();
    cluster.frontProxy(pem(proxy) + pem(kubelet));
    cluster.mayView(VIEWER);
    cluster.mayOnPods(TENANT, "team-a", "get", "list");
    cluster.mayOnPods("user-b", "team-b", "get", "list");
    cluster.mayOnPods("user-gets", "team-a", "get");
    cluster.node("node-a");
    cluster.boundPod("team-a", "trainer", 3, "GPU-a0", "node-a");
    cluster.boundPod("team-b", "secret-project", 4, "GPU-a0", "node-a");
    cluster.boundPod("team-b", "other-project", 2, "GPU-a1", "node-a");
    cluster.pod("waiting", 3);
    running = new RunningExtender(cluster);
    extender = running.extender;
    vertx = running.vertx;
    http = client(null);
    asProxy = client(proxy);
    asKubelet = client(kubelet);
    until(() -> extender.apiAggregatedPort() > 0);
    node =
        running.connect(
            FakeNode.node(
                "node-a",
                FakeNode.gpu("GPU-a0", 0, 5, GIB),
                FakeNode.gpu("GPU-a1", 1, 80, 8 * GIB)));
    until(() -> local("/api/v1/gpus?namespace=team-b").body().contains("other-project"));
  }

  @AfterAll
  void stop() {
    node.close();
    running.close();
    logged.close();
  }

  private HttpClient client(@Nullable SelfSignedCertificate certificate) {
    return client(certificate, new PoolOptions());
  }

  private HttpClient client(@Nullable SelfSignedCertificate certificate, PoolOptions pool) {
    var options = new HttpClientOptions().setSsl(true).setTrustAll(true).setVerifyHost(false);
    if (certificate != null) {
      options.setKeyCertOptions(certificate.keyCertOptions());
    }
    return vertx.createHttpClient(options, pool);
  }

  private static String pem(SelfSignedCertificate certificate) throws Exception {
    return Files.readString(Path.of(certificate.certificatePath()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "summary",
        "summary?output=table",
        "gpus",
        "gpus?output=wide",
        "gpus?output=json",
        "gpus?limit=1",
        "pods",
        "pods?output=wide",
        "pods?output=json",
        "pods?state=Waiting",
        "pods/trainer",
        "pods/trainer?output=wide",
        "pods/waiting?output=wide",
        "history?node=node-a",
      })
  void tenant_seesNobodyElse(String path) throws Exception {
    // History has its first sample a while after the start.
    until(() -> patiently(() -> remote(TEAM_A + path, TENANT)).status() == 200);
    for (Answer answer :
        List.of(
            patiently(() -> remote(TEAM_A + path, TENANT)),
            patiently(() -> proxied(TEAM_A + path, TENANT)),
            patiently(() -> local(TEAM_A + path)))) {
      assertThat(answer.status()).as(answer.body()).isEqualTo(200);
      assertThat(answer.body())
          .doesNotContain("team-b", "project", uid("team-b", "secret-project"));
      if (!path.startsWith("pods/")) {
        // Why a pod is where it is tells of the node's other GPUs, but not who has them.
        assertThat(answer.body()).doesNotContain("GPU-a1");
      }
    }
  }

  @Test
  void gpu_hasTheOthersAsOneAmount() throws Exception {
    JsonObject list = remote(TEAM_A + "gpus", TENANT).json();
    assertThat(list.getString("kind")).isEqualTo("GpuList");
    assertThat(list.getString("apiVersion")).isEqualTo("read.tranche.dev/v1");
    assertThat(list.getJsonArray("items")).hasSize(1);
    JsonObject gpu = list.getJsonArray("items").getJsonObject(0);
    assertThat(gpu.getJsonObject("metadata").getString("name")).isEqualTo("GPU-a0");
    assertThat(gpu.getJsonObject("granted").getString("gpus")).isEqualTo("700m");
    assertThat(gpu.getJsonObject("others").getString("gpus")).isEqualTo("400m");
    assertThat(gpu.getInteger("holderCount")).isEqualTo(1);
    assertThat(gpu.getJsonArray("holders").getJsonObject(0).getString("name")).isEqualTo("trainer");
    assertIs("GpuList", list);
  }

  @Test
  void summary_isOfTheNamespace() throws Exception {
    JsonObject summary = remote(TEAM_A + "summary", TENANT).json();
    assertThat(summary.getInteger("pods")).isEqualTo(2);
    assertThat(summary.getInteger("gpus")).isEqualTo(1);
    assertThat(summary.getJsonObject("granted").getString("gpus")).isEqualTo("300m");
    assertThat(summary.getJsonObject("others").getString("gpus")).isEqualTo("400m");
    assertThat(summary.getJsonObject("waitingPods").getInteger("total")).isEqualTo(1);
    assertIs("NamespaceSummary", summary);
    assertThat(remote(TEAM_A + "summary?output=table", TENANT).body())
        .startsWith("Namespace:     team-a\nPods:          2\nGPUs:          1\n");
  }

  /** As a schema of the document, without what makes it an object of Kubernetes. */
  private static void assertIs(String schema, JsonObject object) {
    JsonObject fields = object.copy();
    fields.remove("kind");
    fields.remove("apiVersion");
    if (fields.containsKey("items")) {
      fields.getJsonArray("items").forEach(item -> withoutHead((JsonObject) item));
    } else {
      fields.remove("metadata");
    }
    OpenApi.assertIs(schema, fields.encode());
  }

  private static void withoutHead(JsonObject item) {
    List.of("kind", "apiVersion", "metadata").forEach(item::remove);
  }

  @Test
  void kubectlGet_isAnsweredWithATable() throws Exception {
    JsonObject table = proxied(TEAM_A + "gpus?limit=500", TENANT, TABLE).json();
    assertThat(table.getString("kind")).isEqualTo("Table");
    JsonArray columns = table.getJsonArray("columnDefinitions");
    JsonObject row = table.getJsonArray("rows").getJsonObject(0);
    assertThat(row.getJsonArray("cells")).hasSameSizeAs(columns).contains("node-a", "0.4");
    assertThat(row.getJsonObject("object").getJsonObject("metadata").getString("name"))
        .isEqualTo("GPU-a0");
    JsonObject pods = proxied(TEAM_A + "pods", TENANT, TABLE).json();
    assertThat(pods.getJsonArray("rows")).hasSize(2);
    assertThat(proxied(TEAM_A + "summary", TENANT, TABLE).json().getString("kind"))
        .isEqualTo("Summary");
  }

  @ParameterizedTest
  @CsvSource({
    "/apis/read.tranche.dev/v1/namespaces/team-b/pods, 403",
    "/apis/read.tranche.dev/v1/namespaces/team-b/gpus, 403",
    "/apis/read.tranche.dev/v1/namespaces/team-b/summary, 403",
    "/apis/read.tranche.dev/v1/namespaces/team-b/pods/secret-project, 403",
    "/apis/read.tranche.dev/v1/namespaces/team-b/history?node=node-a, 403",
    "/apis/read.tranche.dev/v1/namespaces/none/pods, 403",
    "/apis/read.tranche.dev/v1/namespaces/team-a/pods/secret-project, 404",
    "/apis/read.tranche.dev/v1/namespaces/team-a/pods/team-b%2Fsecret-project, 400",
    "/apis/read.tranche.dev/v1/namespaces/team-a/pods/team-b/secret-project, 404",
    "/apis/read.tranche.dev/v1/namespaces/team-a/history?node=node-a&uuid=GPU-a1, 404",
    "/apis/read.tranche.dev/v1/namespaces/team-a/gpus?namespace=team-b, 400",
    "/apis/read.tranche.dev/v1/namespaces/team-a/pods?namespace=team-b, 400",
    "/apis/read.tranche.dev/v1/namespaces/team-a/changes, 404",
    "/apis/read.tranche.dev/v1/namespaces/team-a/../team-b/pods, 404",
    "/apis/read.tranche.dev/v1/namespaces/team-a%2F..%2Fteam-b/pods, 404",
    "/apis/read.tranche.dev/v1/namespaces/team-a%00/pods, 404",
    "/apis/read.tranche.dev/v1/namespaces/TEAM-A/pods, 404",
    "/apis/read.tranche.dev/v1/namespaces//pods, 404",
    "/apis/read.tranche.dev/v1/namespaces/%2A/pods, 404",
  })
  void tenant_readsNoOtherNamespace(String path, int status) throws Exception {
    for (Answer answer :
        List.of(patiently(() -> remote(path, TENANT)), patiently(() -> proxied(path, TENANT)))) {
      assertThat(answer.status()).as(answer.body()).isEqualTo(status);
      assertThat(answer.json().getString("kind")).isEqualTo("Status");
      OpenApi.assertIsStatus(answer.body());
      assertThat(answer.body()).doesNotContain("400m", "freeReplicas", "holders");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/api/v1/gpus",
        "/api/v1/pods",
        "/api/v1/summary",
        "/api/v1/changes",
        "/api/v1/pods/team-a/trainer",
        "/api/v1/pods/team-b/secret-project",
        "/api/v1/history?node=node-a"
      })
  void tenant_readsNothingOfTheCluster(String path) throws Exception {
    Answer answer = remote(path, TENANT);
    assertThat(answer.status()).as(answer.body()).isEqualTo(403);
    assertThat(answer.body()).contains(NAMESPACES + "{namespace}");
    assertThat(proxied(path, TENANT).status()).isEqualTo(404);
  }

  @Test
  void listing_needsTheRightToList() throws Exception {
    assertThat(patiently(() -> remote(TEAM_A + "pods/trainer", "user-gets")).status())
        .isEqualTo(200);
    Answer refused = remote(TEAM_A + "pods", "user-gets");
    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.json().getString("message"))
        .isEqualTo(
            "user \"user-gets\" may not list pods in the namespace team-a; bind the ClusterRole"
                + " view, edit or admin to it there, as kubectl create rolebinding does");
  }

  /** An answer may be kept by no cache, and a verdict counts for its own user alone. */
  @Test
  void answerOfOne_isNoneForAnother() throws Exception {
    for (int i = 0; i < 3; i++) {
      Answer own = proxied(TEAM_A + "gpus", TENANT);
      assertThat(own.status()).isEqualTo(200);
      assertThat(own.headers())
          .containsEntry("cache-control", "no-store")
          .doesNotContainKey("etag");
      assertThat(proxied(TEAM_A + "gpus", "user-b").status()).isEqualTo(403);
      assertThat(remote(TEAM_A + "gpus", "user-b").status()).isEqualTo(403);
      assertThat(remote(TEAM_A + "gpus", TENANT).status()).isEqualTo(200);
      assertThat(proxied(NAMESPACES + "team-b/gpus", "user-b").body()).doesNotContain("trainer");
    }
  }

  @Test
  void whatIf_isOfTheNamespaceOfThePath() throws Exception {
    Answer other = whatIf(TEAM_A + "what-if", pod("team-b", null, "GPU-a0", 1));
    assertThat(other.status()).isEqualTo(400);
    assertThat(other.json().getString("message"))
        .isEqualTo("metadata.namespace is \"team-b\"; allowed: team-a, the namespace of the path");
    JsonObject own = whatIf(TEAM_A + "what-if", pod(null, null, "GPU-a0", 1)).json();
    assertThat(own.getString("namespace")).isEqualTo("team-a");
    assertThat(own.getBoolean("fits")).as(own.encode()).isTrue();
    assertThat(whatIf(NAMESPACES + "team-b/what-if", pod(null, null, "GPU-a0", 1)).status())
        .isEqualTo(403);
  }

  /** Otherwise the answer would tell how much another tenant's pod holds. */
  @Test
  void whatIf_withTheUidOfAnotherTenantsPod_seesItsGpuAsItIs() throws Exception {
    String uid = uid("team-b", "secret-project");
    JsonObject six = pod(null, uid, "GPU-a0", 6);
    JsonObject answer = whatIf(TEAM_A + "what-if", six).json();
    assertThat(answer.getBoolean("fits")).as(answer.encode()).isFalse();
    assertThat(answer.encode()).doesNotContain("team-b", "project");
  }

  private static JsonObject pod(
      @Nullable String namespace, @Nullable String uid, String gpu, int replicas) {
    JsonObject pod = ReadApiIT.pod(replicas, Names.GPU_UUID, gpu);
    JsonObject metadata = pod.getJsonObject("metadata");
    if (namespace != null) {
      metadata.put("namespace", namespace);
    }
    if (uid != null) {
      metadata.put("uid", uid);
    }
    return pod;
  }

  private Answer whatIf(String path, JsonObject pod) throws Exception {
    return patiently(
        () ->
            send(
                asProxy,
                options(extender.apiAggregatedPort(), path)
                    .setMethod(HttpMethod.POST)
                    .putHeader("X-Remote-User", TENANT),
                pod.toBuffer()));
  }

  @Test
  void onlyTheApiServer_mayCallItsPort() throws Exception {
    int port = extender.apiAggregatedPort();
    assertThatThrownBy(() -> send(http, asTenant(port), null)).isNotNull();
    // It is signed by an authority, but has another name.
    Answer kubelets = send(asKubelet, asTenant(port), null);
    assertThat(kubelets.status()).isEqualTo(401);
    assertThat(kubelets.json().getString("message")).contains("only the API server");
    assertThat(send(asProxy, asTenant(port), null).status()).isEqualTo(200);
    assertThat(send(asProxy, options(port, TEAM_A + "gpus"), null).status()).isEqualTo(401);
  }

  /** A token of its user does not come that far, and would count for nothing. */
  @Test
  void headersOfTheApiServer_countAlone() throws Exception {
    RequestOptions viewers =
        options(extender.apiAggregatedPort(), TEAM_A + "gpus")
            .putHeader("X-Remote-User", "user-b")
            .putHeader("Authorization", "Bearer " + VIEWER);
    assertThat(send(asProxy, viewers, null).status()).isEqualTo(403);
    RequestOptions forged =
        options(extender.apiPort(), TEAM_A + "gpus")
            .putHeader("X-Remote-User", TENANT)
            .putHeader("X-Remote-Group", "system:masters");
    assertThat(send(http, forged, null).status()).isEqualTo(401);
    assertThat(send(asProxy, forged, null).status()).isEqualTo(401);
  }

  private RequestOptions asTenant(int port) {
    return options(port, TEAM_A + "gpus").putHeader("X-Remote-User", TENANT);
  }

  @ParameterizedTest
  @CsvSource({
    "/apis/read.tranche.dev/v1, 200, APIResourceList",
    "/apis/read.tranche.dev, 200, APIGroup",
    "/apis, 404, Status",
    "/openapi/v3, 404, Status",
    "/, 404, Status",
  })
  void discovery_isWhatTheApiServerAsksFor(String path, int status, String kind) throws Exception {
    Answer answer = proxied(path, "system:kube-aggregator");
    assertThat(answer.status()).isEqualTo(status);
    assertThat(answer.type()).isEqualTo("application/json");
    assertThat(answer.json().getString("kind")).isEqualTo(kind);
  }

  /** Without a document the API server would ask again and again. */
  @Test
  void openApi_describesNoPaths() {
    JsonObject document = proxied("/openapi/v2", "system:aggregator").json();
    assertThat(document.getString("swagger")).isEqualTo("2.0");
    assertThat(document.getJsonObject("paths")).isEmpty();
  }

  /** Otherwise they would take all connections, and the API server would find no API here. */
  @Test
  void slowBodies_leaveDiscoveryToTheApiServer() throws Exception {
    HttpClient slow = client(proxy, new PoolOptions().setHttp1MaxSize(25));
    Promise<HttpClientResponse> first = Promise.promise();
    for (int i = 0; i < 25; i++) {
      slow.request(
              options(extender.apiAggregatedPort(), TEAM_A + "what-if")
                  .setMethod(HttpMethod.POST)
                  .putHeader("X-Remote-User", TENANT)
                  .putHeader("Content-Type", "application/json"))
          .compose(NamespaceViewIT::neverEnding)
          .onSuccess(first::tryComplete);
    }
    HttpClientResponse last = first.future().await(30, TimeUnit.SECONDS);
    assertThat(last.statusCode()).isEqualTo(429);
    assertThat(last.getHeader("Retry-After")).isEqualTo("1");
    assertThat(proxied("/apis/read.tranche.dev/v1", TENANT).status()).isEqualTo(200);
    slow.close().await();
    until(() -> proxied(TEAM_A + "gpus", TENANT).status() == 200);
  }

  private static Future<HttpClientResponse> neverEnding(HttpClientRequest request) {
    var _ = request.setChunked(true).write("{");
    return request.response();
  }

  /** The API server then takes the aggregated API for unavailable. */
  @Test
  void certificateWithoutAuthorities_isSaidOnce() throws Exception {
    until(() -> logged("using the certificate") >= 1);
    cluster.touchCertificate();
    until(() -> logged("using the certificate") >= 2);
    assertThat(
            logged(
                "Secret gpu/tranche-extender-tls has no ca.crt; the API server verifies the"
                    + " aggregated API by it"))
        .isEqualTo(1);
  }

  private long logged(String text) {
    return logged.messages().stream().filter(line -> line.contains(text)).count();
  }

  private String uid(String namespace, String name) {
    return cluster
        .client()
        .pods()
        .inNamespace(namespace)
        .withName(name)
        .get()
        .getMetadata()
        .getUid();
  }

  /** Sends a request. */
  private interface Sending {
    Answer send() throws Exception;
  }

  /** Explanations and what-if have a rate. */
  private static Answer patiently(Sending sending) throws Exception {
    Answer answer = sending.send();
    while (answer.status() == 429) {
      Thread.sleep(Duration.ofSeconds(Long.parseLong(answer.headers().get("retry-after"))));
      answer = sending.send();
    }
    return answer;
  }

  private Answer local(String path) {
    var options = options(extender.apiLocalPort(), path).setSsl(false);
    return send(http, options, null);
  }

  private Answer remote(String path, String token) {
    return send(
        http,
        options(extender.apiPort(), path).putHeader("Authorization", "Bearer " + token),
        null);
  }

  private Answer proxied(String path, String user) {
    return proxied(path, user, "application/json");
  }

  private Answer proxied(String path, String user, String accepted) {
    return send(
        asProxy,
        options(extender.apiAggregatedPort(), path)
            .putHeader("X-Remote-User", user)
            .putHeader("X-Remote-Group", "system:authenticated")
            .putHeader("Accept", accepted),
        null);
  }

  private static RequestOptions options(int port, String path) {
    return new RequestOptions().setHost("127.0.0.1").setPort(port).setURI(path);
  }

  private static Answer send(HttpClient client, RequestOptions options, @Nullable Buffer body) {
    try {
      return client
          .request(options)
          .compose(
              request ->
                  // On the client's thread, before the body comes.
                  (body == null ? request.send() : posted(request, body))
                      .compose(response -> response.body().map(read -> answer(response, read))))
          .await(30, TimeUnit.SECONDS);
    } catch (TimeoutException late) {
      throw new AssertionError(options.getURI(), late);
    }
  }

  private static Future<HttpClientResponse> posted(HttpClientRequest request, Buffer body) {
    return request.putHeader("Content-Type", "application/json").send(body);
  }

  private static Answer answer(HttpClientResponse response, Buffer body) {
    var headers = new TreeMap<String, String>();
    response.headers().forEach((name, value) -> headers.put(name.toLowerCase(Locale.ROOT), value));
    return new Answer(
        response.statusCode(),
        String.valueOf(response.getHeader("Content-Type")),
        body.toString(),
        headers);
  }
}
