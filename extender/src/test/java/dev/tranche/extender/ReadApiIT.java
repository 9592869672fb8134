package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.readapi.OpenApi;
import dev.tranche.extender.stream.FakeNode;
import io.fabric8.kubernetes.api.model.BindingBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The read API over real sockets, with an API server that reviews tokens and rights. Tests share
 * one extender, but for those that change what others see. Fields without a value are set by start.
 */
@SuppressWarnings("NullAway.Init")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ReadApiIT {
  private static final long GIB = 1L << 30;
  private static final String GPUS = "/api/v1/gpus";
  private static final String VIEWER = "user-viewer";

  /** A test that has an extender of its own. */
  private static final String ALONE = "alone";

  private MockCluster cluster;
  private HttpClient http;
  private Extender extender;
  private FakeNode node;
  private @Nullable RunningExtender running;

  @BeforeEach
  void start(TestInfo test) throws Exception {
    if (test.getTags().contains(ALONE)) {
      stop();
    }
    if (running != null) {
      return;
    }
    cluster = new MockCluster();
    cluster.mayView(VIEWER);
    cluster.node("node-a");
    cluster.pod("trainer", 3);
    running = new RunningExtender(cluster);
    extender = running.extender;
    node =
        running.connect(
            FakeNode.node(
                "node-a",
                FakeNode.gpu("GPU-a0", 0, 5, GIB),
                FakeNode.gpu("GPU-a1", 1, 80, 8 * GIB)));
    var trusting = SSLContext.getInstance("TLS");
    trusting.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
    http = HttpClient.newBuilder().sslContext(trusting).build();
    until(() -> local(GPUS).body().contains("GPU-a1"));
  }

  @AfterEach
  void stop(TestInfo test) {
    if (test.getTags().contains(ALONE)) {
      stop();
    }
  }

  @AfterAll
  void stop() {
    if (running != null) {
      node.close();
      running.close();
      running = null;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "/api/v1/summary, /api/v1/summary",
    "/api/v1/gpus?health=Healthy&limit=1, /api/v1/gpus",
    "/api/v1/pods?state=Waiting, /api/v1/pods",
    "/api/v1/pods/team-a/trainer, '/api/v1/pods/{namespace}/{name}'",
    "/api/v1/openapi.json, /api/v1/openapi.json",
  })
  void realAnswers_areWhatTheServedDocumentDescribes(String asked, String path) throws Exception {
    assertDescribed(asked, path);
  }

  private void assertDescribed(String asked, String path) throws Exception {
    for (HttpResponse<String> answer : List.of(local(asked), remote(asked, VIEWER))) {
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
      assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/json");
      OpenApi.assertDescribed(path, 200, answer.body());
    }
  }

  @Test
  @Tag(ALONE)
  void podThatHoldsAGpu_isShownWithIt() throws Exception {
    cluster.carryOut(
        new BindingBuilder()
            .withNewMetadata()
            .withName("trainer")
            .addToAnnotations(Names.GPU, "GPU-a0")
            .endMetadata()
            .withNewTarget()
            .withName("node-a")
            .endTarget()
            .build());
    until(() -> local(GPUS + "?namespace=team-a").body().contains("\"trainer\""));
    JsonObject gpu = json(local(GPUS + "?namespace=team-a")).getJsonArray("items").getJsonObject(0);
    assertThat(gpu.getString("uuid")).isEqualTo("GPU-a0");
    assertThat(gpu.getJsonObject("granted").getString("gpus")).isEqualTo("300m");
    HttpResponse<String> pods = local("/api/v1/pods?node=node-a&state=Bound");
    assertThat(json(pods).getJsonArray("items")).hasSize(1);
    HttpResponse<String> metrics = remote("/metrics", MockCluster.PROMETHEUS);
    assertThat(metrics.headers().firstValue("Content-Type").orElseThrow()).startsWith("text/plain");
    assertThat(metrics.body())
        .contains(
            "# TYPE tranche_container_gpu_memory_granted_bytes gauge",
            "tranche_container_gpu_memory_granted_bytes{Hostname=\"node-a\",UUID=\"GPU-a0\",gpu=\"0\"")
        .contains("namespace=\"team-a\",pod=\"trainer\"}");
  }

  @Test
  @Tag(ALONE)
  void deletedPod_isUnknownOnEachSurface() throws Exception {
    String pod = "/api/v1/pods/team-a/trainer";
    filter(cluster.client().pods().inNamespace("team-a").withName("trainer").get());
    assertThat(local(pod).statusCode()).isEqualTo(200);
    cluster.client().pods().inNamespace("team-a").withName("trainer").delete();
    until(() -> local(pod).statusCode() == 404);
    problem(local(pod), 404, "pod team-a/trainer is not known: it was deleted");
    problem(remote(pod, VIEWER), 404, "it was deleted");
    for (String output : List.of("json", "table", "wide")) {
      assertThat(local(pod + "?output=" + output).statusCode()).as(output).isEqualTo(404);
    }
    // Lists are a second old at most.
    until(() -> json(local("/api/v1/pods")).getJsonArray("items").isEmpty());
  }

  /** As kube-scheduler calls it. */
  private void filter(Pod pod) throws Exception {
    String args = "{\"Pod\":%s,\"NodeNames\":[\"node-a\"]}".formatted(Serialization.asJson(pod));
    var request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + extender.verbsPort() + "/filter"))
            .POST(HttpRequest.BodyPublishers.ofString(args))
            .build();
    until(
        () ->
            http.send(request, HttpResponse.BodyHandlers.ofString())
                .body()
                .contains("\"NodeNames\":[\"node-a\"]"));
  }

  /** The role of the API is not enough, and this right opens nothing else. */
  @Test
  void metricsOfPods_areForWhoMayGetMetrics() throws Exception {
    assertThat(remote("/metrics", MockCluster.PROMETHEUS).statusCode()).isEqualTo(200);
    problem(remote("/metrics", VIEWER), 403, "may not get the non-resource URL /metrics");
    problem(remote("/metrics", null), 401, "Bearer");
    problem(local("/metrics?x=y"), 400, "no parameters");
    assertThat(remote(GPUS, MockCluster.PROMETHEUS).statusCode()).isEqualTo(403);
  }

  @Test
  void history_isRecordedUnasked_ofAGpuAndOfItsNode() throws Exception {
    String path = "/api/v1/history";
    until(() -> local(path + "?node=node-a&uuid=GPU-a1").body().contains("0.8"));
    for (String query : List.of("?node=node-a&uuid=GPU-a1", "?node=node-a")) {
      assertDescribed(path + query, path);
    }
    JsonObject node = json(local(path + "?node=node-a"));
    assertThat(node.getJsonArray("gpus")).hasSize(2);
    assertThat(remote(path + "?node=node-a", "user-stranger").statusCode()).isEqualTo(403);
    assertThat(metrics())
        .containsPattern("tranche_extender_history_bytes [1-9]")
        .contains("tranche_extender_history_gpus_left_out 0.0");
  }

  @Test
  void invariants_areJudgedUnasked_andNeedTheRoleOfTheWholeCluster() throws Exception {
    String path = "/api/v1/invariants";
    until(() -> local(path).body().matches(".*\"gpus\" ?: ?2\\b.*"));
    assertDescribed(path, path);
    JsonObject judged = json(local(path));
    assertThat(judged.getInteger("nodes")).isEqualTo(1);
    assertThat(judged.getInteger("gpus")).isEqualTo(2);
    assertThat(judged.getJsonArray("items")).isEmpty();
    assertThat(local(path + "?output=table").body()).startsWith("INVARIANT   BROKEN");
    assertThat(local(path + "?x=y").statusCode()).isEqualTo(400);
    assertThat(remote(path, "user-stranger").statusCode()).isEqualTo(403);
    assertThat(metrics()).contains("tranche_extender_invariants_broken 0.0");
  }

  @ParameterizedTest
  @CsvSource({
    "/api/v1/gpus?limit=0, 400, limit is \"0\"; allowed",
    "/api/v1/gpus?pod=x, 400, pod is \"x\"; allowed",
    "/api/v1/pods?state=Asleep, 400, 'Bound, Ended, Scheduling, Waiting'",
    "/api/v1/pods/team-a/none, 404, pod team-a/none is not known",
    "/api/v1/pods/team-a/%3Cscript%3E, 400, lower case letters",
    "/api/v1/openapi.json?x=y, 400, no parameters",
    "/api/v1/history, 400, node is \"\"; allowed: the name of a node",
    "/api/v1/history?node=none, 404, node none was not found",
    "/nothing, 404, there are /api/v1/summary",
  })
  void wrongRequests_areProblemsThatSayWhatIsAllowed(String asked, int status, String said)
      throws Exception {
    HttpResponse<String> answer = local(asked);
    problem(answer, status, said);
    assertThat(answer.headers().firstValue("X-Content-Type-Options")).hasValue("nosniff");
  }

  @ParameterizedTest
  @CsvSource({
    "/api/v1/summary?output=table, text/plain; charset=utf-8, 'NODE     GPUS   GRANTED'",
    "/api/v1/waste?output=table, text/plain; charset=utf-8, GPUs that pods hold are not used",
    "/api/v1/pods?node=node-a&gpu=7&output=table, text/plain; charset=utf-8, NAMESPACE",
    "/api/v1/gpus?limit=1&output=wide, text/plain; charset=utf-8, 1 more: continue=",
    "/api/v1/pods/team-a/trainer?output=table, text/plain; charset=utf-8, 'State:         Waiting'",
    "/api/v1/pods/team-a/trainer?output=json, application/json, '\n  \"state\" : \"Waiting\"'",
  })
  void outputs_areTextForPeople(String asked, String type, String said) throws Exception {
    HttpResponse<String> answer = local(asked);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    assertThat(answer.headers().firstValue("Content-Type")).hasValue(type);
    assertThat(answer.body()).contains(said.replace("\\n", "\n"));
  }

  /** It shows nothing else. */
  @Test
  void errorsForKubectl_areStatusObjects() throws Exception {
    HttpResponse<String> answer = local("/api/v1/gpus?output=table&limit=0");
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/json");
    OpenApi.assertIsStatus(answer.body());
    assertThat(json(answer).getString("kind")).isEqualTo("Status");
    assertThat(json(answer).getString("message")).startsWith("limit is \"0\"; allowed");
    for (String asked : List.of("pods/team-a/none?output=json", "history?node=no&output=json")) {
      assertThat(json(local("/api/v1/" + asked)).getString("reason")).isEqualTo("NotFound");
    }
    assertThat(local("/api/v1/history?node=no&output=table").body()).contains("one of json");
  }

  @ParameterizedTest
  @CsvSource({
    "/api/v1/gpus?output=yaml, '\"yaml\"; allowed: one of json, table, wide'",
    "/api/v1/gpus?output=table&output=wide, 'output is \"table, wide\"'",
    "/api/v1/openapi.json?output=json, no parameters",
  })
  void unknownOutputs_areProblems(String asked, String said) throws Exception {
    HttpResponse<String> answer = local(asked);
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(json(answer).getString("message")).contains(said);
  }

  @Test
  void otherMethods_areRefused() throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + extender.apiLocalPort() + GPUS))
            .POST(HttpRequest.BodyPublishers.ofString("{}"))
            .build();
    HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    problem(answer, 405, "the only method of this path is GET");
    assertThat(answer.headers().firstValue("Allow")).hasValue("GET");
  }

  @Test
  void podThatFits_isToldWhereItWouldGo_andNothingIsHeld() throws Exception {
    String before = json(local(GPUS)).getJsonArray("items").encode();
    HttpResponse<String> answer = whatIf("", pod(null).encode(), null);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    OpenApi.assertIs("WhatIf", answer.body());
    assertThat(json(answer).getString("node")).isEqualTo("node-a");
    JsonObject gpu = json(answer).getJsonArray("gpus").getJsonObject(0);
    assertThat(gpu.getString("uuid")).isEqualTo("GPU-a0");
    assertThat(gpu.getInteger("replicas")).isEqualTo(3);
    assertThat(json(answer).containsKey("count")).isFalse();

    JsonObject many = json(whatIf("?count=20", pod(null).encode(), null));
    OpenApi.assertIs("WhatIf", many.encode());
    assertThat(many.getJsonObject("count").getInteger("fit"))
        .isEqualTo(fitting(json(local(GPUS)).getJsonArray("items")));
    assertThat(many.getJsonObject("count").getBoolean("complete")).isTrue();
    assertThat(withoutTimes(json(local(GPUS)).getJsonArray("items").encode()))
        .isEqualTo(withoutTimes(before));
  }

  @Test
  void podThatFitsNowhere_isToldWhy() throws Exception {
    JsonObject other =
        json(whatIf("", pod("A100").encode(), null)).put("time", "2026-11-23T19:56:01.966Z");
    OpenApi.assertIs("WhatIf", other.encode());
    assertThat(other.getBoolean("fits")).isFalse();
    assertThat(other.getJsonObject("waiting").getString("reason")).isEqualTo("NoSuchModel");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "?count=0; {}; count is \"0\"; 400",
        "?count=1001; {}; a whole number from 1 to 1000; 400",
        "?pod=x; {}; the parameter count; 400",
        "''; nonsense; a Pod as the API server would store it; 400",
        "''; {\"kind\":\"Deployment\"}; kind is \"Deployment\"; 400",
        "''; {\"kind\":\"Pod\",\"spec\":{}}; spec.containers; 400",
        "''; {\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"c\"}]}}; requests no GPU; 400",
        "''; {\"kind\":\"Pod\",\"metadata\":{\"annotations\":{\"tranche.dev/gpu-fraction\":\"0.3\"}},\"spec\":{\"containers\":[{\"name\":\"c\"}]}};"
            + " that the webhook has converted to a request; 400",
      })
  void bodyThatIsNoPodWithGpus_isRefusedInASentence(
      String query, String body, String said, int status) throws Exception {
    HttpResponse<String> answer = whatIf(query, body, null);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
    assertThat(json(answer).getString("detail")).contains(said);
    OpenApi.assertIs("Problem", answer.body());
  }

  @Test
  void bodyThatIsTooLong_isNotRead() throws Exception {
    HttpResponse<String> answer = whatIf("", "x".repeat((2 << 20) + 1), null);
    assertThat(answer.statusCode()).isEqualTo(413);
    OpenApi.assertIs("Problem", answer.body());
  }

  @Test
  void questions_needTheRightToPost() throws Exception {
    assertThat(whatIf("", pod(null).encode(), VIEWER).statusCode()).isEqualTo(200);
    HttpResponse<String> stranger = whatIf("", pod(null).encode(), "user-stranger");
    assertThat(stranger.statusCode()).isEqualTo(403);
    assertThat(json(stranger).getString("detail"))
        .contains("may not post the non-resource URL /tranche/api/v1/what-if");
  }

  private static JsonObject pod(@Nullable String model) {
    return pod(3, Names.GPU_MODEL, model);
  }

  /** A pod as it is posted, with one more annotation unless that is null. */
  static JsonObject pod(int replicas, String annotation, @Nullable String value) {
    var annotations =
        new JsonObject().put(Names.GPU_FRACTION, "0." + replicas).put(Names.REPLICAS_PER_GPU, "10");
    if (value != null) {
      annotations.put(annotation, value);
    }
    var limits = new JsonObject().put(Names.RESOURCE, Integer.toString(replicas));
    var container =
        new JsonObject()
            .put("name", "main")
            .put("resources", new JsonObject().put("limits", limits).put("requests", limits));
    return new JsonObject()
        .put("apiVersion", "v1")
        .put("kind", "Pod")
        .put("metadata", new JsonObject().put("name", "p").put("annotations", annotations))
        .put("spec", new JsonObject().put("containers", new JsonArray().add(container)));
  }

  /** How many pods of three replicas the GPUs still have room for. */
  private static int fitting(JsonArray gpus) {
    return IntStream.range(0, gpus.size())
        .map(i -> gpus.getJsonObject(i).getInteger("freeReplicas") / 3)
        .sum();
  }

  private static String withoutTimes(String rows) {
    return rows.replaceAll("\"(measured|effective)\":\\{[^}]*}", "");
  }

  private HttpResponse<String> whatIf(String query, String body, @Nullable String token)
      throws Exception {
    String url =
        token == null
            ? "http://127.0.0.1:" + extender.apiLocalPort()
            : "https://localhost:" + extender.apiPort();
    var request =
        HttpRequest.newBuilder(URI.create(url + "/api/v1/what-if" + query))
            .timeout(Duration.ofSeconds(20))
            .POST(HttpRequest.BodyPublishers.ofString(body));
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 429) {
      return answer;
    }
    Thread.sleep(
        Duration.ofSeconds(answer.headers().firstValueAsLong("Retry-After").orElseThrow()));
    return whatIf(query, body, token);
  }

  @Test
  void remoteCallers_needAToken_thatMayRead() throws Exception {
    HttpResponse<String> without = remote(GPUS, null);
    problem(without, 401, "Authorization: Bearer <token>");
    assertThat(without.headers().firstValue("WWW-Authenticate")).hasValue("Bearer");
    problem(remote(GPUS, "nonsense"), 401, "does not accept the token");
    problem(remote(GPUS, "user-stranger"), 403, "bind the ClusterRole tranche-viewer");
    problem(remote(GPUS, "token-of-node-a"), 403, "tranche-node-plugin");
    assertThat(remote(GPUS, VIEWER).statusCode()).isEqualTo(200);
  }

  @Test
  @Tag(ALONE)
  void randomTokens_areNotAllReviewed() throws Exception {
    int before = cluster.reviews();
    HttpResponse<String> answer = remote(GPUS, "random");
    for (int i = 0; i < 200 && answer.statusCode() != 429; i++) {
      answer = remote(GPUS, "random-" + i);
    }
    problem(answer, 429, "too many tokens from this address");
    assertThat(answer.headers().firstValue("Retry-After")).hasValue("1");
    assertThat(cluster.reviews() - before).isLessThan(150);
    assertThat(local(GPUS).statusCode()).as("on loopback").isEqualTo(200);
    assertThat(metrics()).contains("tranche_extender_read_api_answers_total{code=\"429\"} 1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost", "127.0.0.1:9445", "[::1]:9445", "localhost:1"})
  void namesOfThisHost_areLetInOnLoopback(String host) throws Exception {
    assertThat(raw(host)).startsWith("HTTP/1.1 200");
  }

  @ParameterizedTest
  @ValueSource(strings = {"evil.example", "localhost.evil.example:9445", "127.0.0.1.nip.io"})
  void otherNames_areRefusedOnLoopback(String host) throws Exception {
    assertThat(raw(host)).startsWith("HTTP/1.1 403").contains("has to be localhost");
  }

  @Test
  void malformedQuery_isRefused() throws Exception {
    assertThat(raw("localhost", GPUS + "?node=%zz"))
        .startsWith("HTTP/1.1 400")
        .contains("malformed");
  }

  @Test
  void bounds_haveTheirMetrics() throws Exception {
    assertThat(metrics())
        .contains(
            "tranche_extender_connections{port=\"api\"}",
            "tranche_extender_connections{port=\"api-local\"}",
            "tranche_extender_connections_refused_total{port=\"api\"}",
            "tranche_extender_read_api_answers_total{code=\"200\"}",
            "tranche_extender_read_api_timeouts_total",
            "tranche_extender_read_api_in_flight",
            "tranche_extender_read_api_shed_total",
            "tranche_extender_read_api_verdicts");
  }

  private static void problem(HttpResponse<String> answer, int status, String said) {
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
    assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    assertThat(json(answer).getString("detail")).contains(said);
    OpenApi.assertDescribed(GPUS, status == 404 ? 400 : status, answer.body());
  }

  private static JsonObject json(HttpResponse<String> answer) {
    return new JsonObject(answer.body());
  }

  private HttpResponse<String> local(String path) throws Exception {
    return get("http://127.0.0.1:" + extender.apiLocalPort() + path, null);
  }

  private HttpResponse<String> remote(String path, @Nullable String token) throws Exception {
    return get("https://localhost:" + extender.apiPort() + path, token);
  }

  private String metrics() throws Exception {
    return get("http://127.0.0.1:" + extender.metricsPort() + "/metrics", null).body();
  }

  private HttpResponse<String> get(String url, @Nullable String token) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(20));
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private String raw(String host) throws Exception {
    return raw(host, GPUS);
  }

  private String raw(String host, String path) throws Exception {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), extender.apiLocalPort())) {
      socket.setSoTimeout(20_000);
      String request =
          "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n".formatted(path, host);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
