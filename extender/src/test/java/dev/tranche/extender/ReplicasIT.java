package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.extender.stream.FakeNode;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two replicas; the one that is asked dies with binds under way, and the other goes on. */
final class ReplicasIT {
  private static final int PODS = 200;

  /** Three of a GPU's ten: four pods on one are one too many. */
  private static final int REPLICAS = 3;

  private static final int NODES = 10;
  private static final int GPUS = 8;
  private static final int UNDER_WAY = 8;
  private static final List<String> NAMES =
      IntStream.range(0, NODES).mapToObj(i -> "node-" + i).toList();

  private final MockCluster cluster = new MockCluster();
  private final KubernetesClient client = cluster.client();
  private final Vertx vertx = Vertx.vertx();
  private final HttpClient http = HttpClient.newHttpClient();
  private final List<PluginStreams> plugins = new ArrayList<>();
  private Extender first;
  private Extender second;
  private String lastAnswer = "";

  /** One node's plugin: what either replica assigns is echoed to both. */
  private final class PluginStreams {
    private final String node;
    private final Map<String, Assignment> kept = new ConcurrentHashMap<>();
    private final List<FakeNode> streams = new CopyOnWriteArrayList<>();

    PluginStreams(String node) {
      this.node = node;
    }

    void connect(Extender extender) throws Exception {
      var gpus =
          IntStream.range(0, GPUS)
              .mapToObj(i -> FakeNode.gpu("GPU-" + node + "-" + i, i, 5, 0))
              .toArray(Gpu.Builder[]::new);
      var stream =
          new FakeNode(
              vertx, extender.streamPort(), "token-of-" + node, FakeNode.node(node, gpus).build());
      stream.hearing(this::hear);
      streams.add(stream);
    }

    private void hear(NodeDirective directive) {
      directive.getAssignList().forEach(a -> kept.put(a.getPodUid(), a));
      directive.getRetractPodUidsList().forEach(kept::remove);
      report();
    }

    void report() {
      for (FakeNode stream : streams) {
        vertx.runOnContext(
            now -> stream.report(r -> r.clearAssignments().addAllAssignments(kept.values())));
      }
    }
  }

  @BeforeEach
  void start() throws Exception {
    cluster.reviewTokens();
    cluster.certificate();
    NAMES.forEach(cluster::node);
    first = started();
    second = started();
    for (String name : NAMES) {
      var plugin = new PluginStreams(name);
      plugin.connect(first);
      plugin.connect(second);
      plugins.add(plugin);
    }
    vertx.setPeriodic(2_000, ignored -> plugins.forEach(PluginStreams::report));
    until(() -> ready(first) && ready(second));
  }

  private Extender started() throws Exception {
    var extender = new Extender(ExtenderIT.config(), client);
    extender.start().await();
    until(() -> extender.streamPort() > 0);
    return extender;
  }

  @AfterEach
  void stop() {
    plugins.forEach(plugin -> plugin.streams.forEach(FakeNode::close));
    first.close();
    second.close();
    vertx.close().await();
    cluster.close();
  }

  @Test
  @Tag("slow")
  void theOneThatIsAskedDies_nothingIsDoubleBookedAndNothingLost() throws Exception {
    for (int i = 0; i < PODS; i++) {
      cluster.pod("pod-" + i, REPLICAS);
    }
    for (int i = 0; i < PODS / 2; i++) {
      String pod = "pod-" + i;
      until(() -> lastAnswer, () -> cluster.accepted(pod) || schedule(first, pod));
    }
    var underWay = new ArrayList<CompletableFuture<?>>();
    for (int i = PODS / 2; i < PODS / 2 + UNDER_WAY; i++) {
      String pod = "pod-" + i;
      String node = choose(first, pod);
      underWay.add(http.sendAsync(bind(first, pod, node), HttpResponse.BodyHandlers.ofString()));
    }
    first.close();
    CompletableFuture.allOf(underWay.toArray(CompletableFuture[]::new))
        .exceptionally(e -> null)
        .get();

    for (int i = PODS / 2; i < PODS; i++) {
      String pod = "pod-" + i;
      until(() -> lastAnswer, () -> cluster.accepted(pod) || schedule(second, pod));
    }
    assertBookedOnce();
  }

  private void assertBookedOnce() throws Exception {
    var held = new HashMap<String, Integer>();
    for (int i = 0; i < PODS; i++) {
      String name = "pod-" + i;
      until(() -> cluster.pod(name).getSpec().getNodeName() != null);
      Pod pod = cluster.pod(name);
      String gpu = pod.getMetadata().getAnnotations().get(Names.GPU);
      assertThat(gpu).as("GPU of pod-%d", i).startsWith("GPU-" + pod.getSpec().getNodeName());
      held.merge(gpu, REPLICAS, Integer::sum);
      String keeper = pod.getSpec().getNodeName() + " " + gpu;
      until(() -> keepers(pod).equals(List.of(keeper)));
    }
    assertThat(held.values()).allSatisfy(n -> assertThat(n).isLessThanOrEqualTo(10));
  }

  /** Nodes that will give the pod a GPU, and which. */
  private List<String> keepers(Pod pod) {
    return plugins.stream()
        .filter(p -> p.kept.containsKey(pod.getMetadata().getUid()))
        .map(p -> p.node + " " + uuid(p.kept.get(pod.getMetadata().getUid())))
        .toList();
  }

  private static String uuid(Assignment assignment) {
    return assignment.getContainers(0).getShares(0).getUuid();
  }

  // --- kube-scheduler ---

  private boolean schedule(Extender extender, String pod) throws Exception {
    String node = choose(extender, pod);
    if (node.isEmpty()) {
      return false;
    }
    String answer =
        http.send(bind(extender, pod, node), HttpResponse.BodyHandlers.ofString()).body();
    lastAnswer = pod + " on " + node + ": " + answer;
    return new JsonObject(answer).getString("Error").isEmpty();
  }

  /** Filter and prioritize; empty if it is to be tried again. */
  private String choose(Extender extender, String name) throws Exception {
    String pod = Serialization.asJson(cluster.pod(name));
    JsonObject filtered = new JsonObject(post(extender, "/filter", args(pod, NAMES)));
    lastAnswer = name + ": " + filtered;
    List<String> fitting =
        filtered.getJsonArray("NodeNames", new JsonArray()).stream().map(String::valueOf).toList();
    if (fitting.size() < 2) {
      return fitting.isEmpty() ? "" : fitting.getFirst();
    }
    var scores = new JsonArray(post(extender, "/prioritize", args(pod, fitting)));
    return scores.stream()
        .map(JsonObject.class::cast)
        .reduce((a, b) -> a.getInteger("Score") >= b.getInteger("Score") ? a : b)
        .map(best -> best.getString("Host"))
        .orElse("");
  }

  private static String args(String pod, List<String> nodes) {
    String names = nodes.stream().map(n -> '"' + n + '"').collect(Collectors.joining(","));
    return "{\"Pod\":%s,\"Nodes\":null,\"NodeNames\":[%s]}".formatted(pod, names);
  }

  private HttpRequest bind(Extender extender, String name, String node) {
    String uid = cluster.pod(name).getMetadata().getUid();
    return request(
        extender,
        "/bind",
        "{\"PodName\":\"%s\",\"PodNamespace\":\"team-a\",\"PodUID\":\"%s\",\"Node\":\"%s\"}"
            .formatted(name, uid, node));
  }

  private String post(Extender extender, String path, String body) throws Exception {
    return http.send(request(extender, path, body), HttpResponse.BodyHandlers.ofString()).body();
  }

  private static HttpRequest request(Extender extender, String path, String body) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + extender.verbsPort() + path))
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
  }

  private boolean ready(Extender extender) throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + extender.metricsPort() + "/readyz"))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode() == 200;
  }
}
