package dev.tranche.e2e.bench.training;

import dev.tranche.e2e.bench.plane.ClusterObjects;
import dev.tranche.e2e.bench.plane.SimulatedNodes;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.HttpGet;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemKeyCertOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * Exercises the extender in the training run of its image. It simulates an API server with nodes
 * and pods, the streams of their plugins, and the calls of a kube-scheduler. The image's class
 * cache then has all classes that this needs. Runs beside the extender, which uses its default
 * ports.
 */
public final class ExtenderTraining {
  /** {@code KUBERNETES_MASTER} of the extender is {@code https://127.0.0.1:6443}. */
  private static final int API_PORT = 6443;

  private static final int STREAM_PORT = 9443;
  private static final URI VERBS = URI.create("http://127.0.0.1:8880/");
  private static final URI PAGES = URI.create("http://127.0.0.1:9090/");
  private static final int NODES = 200;
  private static final int PODS_MAX = 500;
  private static final Duration TIME_LIMIT = Duration.ofSeconds(45);

  /**
   * The number of pods at a time. Older pods are deleted, so that others fit and the extender sees
   * pods end.
   */
  private static final int PODS_KEPT = 50;

  private static final HttpResponse.BodyHandler<String> TEXT = BodyHandlers.ofString();

  private final HttpClient http = HttpClient.newHttpClient();
  private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
  private final TrainingApi api;
  private final List<String> names =
      IntStream.range(0, NODES).mapToObj(ClusterObjects::nodeName).toList();

  private ExtenderTraining(PemKeyCertOptions certificate, String account) {
    api = new TrainingApi(vertx, certificate, account, NODES);
  }

  /**
   * @param args a PKCS #12 file with a key for 127.0.0.1, its password, and the ServiceAccount of
   *     the node plugins as {@code namespace:name}
   */
  public static void main(String[] args) throws Exception {
    new ExtenderTraining(certificate(Path.of(args[0]), args[1].toCharArray()), args[2]).run();
    System.exit(0);
  }

  private void run() throws Exception {
    api.listen(API_PORT);
    var config =
        new ConfigBuilder()
            .withMasterUrl("https://127.0.0.1:" + API_PORT)
            .withTrustCerts(true)
            .build();
    Await.until("the extender to be ready", 150, () -> get("readyz").startsWith("ready"));
    try (var client = new KubernetesClientBuilder().withConfig(config).build();
        var streams = new SimulatedNodes(client, STREAM_PORT, ClusterObjects.gpus(NODES))) {
      pods(streams);
      get("metrics");
    }
  }

  private void pods(SimulatedNodes streams) throws Exception {
    long untilNanos = System.nanoTime() + TIME_LIMIT.toNanos();
    var placed = new ArrayDeque<Placed>();
    int i = 0;
    for (; i < PODS_MAX && System.nanoTime() < untilNanos; i++) {
      place("training-" + i).ifPresent(placed::add);
      if (placed.size() > PODS_KEPT) {
        end(placed.remove(), streams);
      }
    }
    System.err.println("the extender was asked about " + i + " pods");
  }

  /**
   * @param bound the bind call, which runs while other pods are filtered, as in kube-scheduler
   */
  private record Placed(String name, String node, CompletableFuture<?> bound) {}

  private void end(Placed pod, SimulatedNodes streams) {
    pod.bound().join();
    sendPodEvent("DELETED", pod.name(), pod.node());
    streams.endPod(pod.node(), pod.name() + "-uid");
  }

  /** Makes kube-scheduler's calls for a pod; returns empty if it fits nowhere. */
  private Optional<Placed> place(String name) throws Exception {
    sendPodEvent("ADDED", name, "");
    var pod = pod(name);
    var filtered =
        new JsonObject(http.send(post("filter", args(pod, new JsonArray(names))), TEXT).body());
    JsonArray offered = filtered.getJsonArray("NodeNames", new JsonArray());
    if (offered.isEmpty()) {
      return Optional.empty();
    }
    var scores = new JsonArray(http.send(post("prioritize", args(pod, offered)), TEXT).body());
    String best =
        scores.stream()
            .map(JsonObject.class::cast)
            .max(Comparator.comparingInt(score -> score.getInteger("Score")))
            .orElseThrow()
            .getString("Host");
    var bind =
        new JsonObject()
            .put("PodName", name)
            .put("PodNamespace", ClusterObjects.NAMESPACE)
            .put("PodUID", name + "-uid")
            .put("Node", best);
    return Optional.of(new Placed(name, best, http.sendAsync(post("bind", bind), TEXT)));
  }

  private static JsonObject args(JsonObject pod, JsonArray names) {
    return new JsonObject().put("Pod", pod).putNull("Nodes").put("NodeNames", names);
  }

  private static JsonObject pod(String name) {
    return new JsonObject(
        """
        {"metadata":{"name":"%1$s","namespace":"%2$s","uid":"%1$s-uid","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"training"}},
        "spec":{"containers":[{"name":"main","image":"registry.example.com/training:1","resources":{
          "limits":{"cpu":"4","memory":"16Gi","nvidia.com/gpu":"1"},"requests":{"cpu":"4","memory":"16Gi","nvidia.com/gpu":"1"}},
          "imagePullPolicy":"IfNotPresent"}],"schedulerName":"default-scheduler","priority":0},
        "status":{"phase":"Pending"}}
        """
            .formatted(name, ClusterObjects.NAMESPACE));
  }

  private void sendPodEvent(String type, String name, String node) {
    vertx.getOrCreateContext().runOnContext(go -> api.sendPodEvent(type, name, node));
  }

  private static HttpRequest post(String verb, JsonObject body) {
    return HttpRequest.newBuilder(VERBS.resolve(verb))
        .POST(HttpRequest.BodyPublishers.ofString(body.encode()))
        .build();
  }

  private String get(String page) {
    return HttpGet.orEmpty(http, PAGES.resolve(page));
  }

  static PemKeyCertOptions certificate(Path file, char[] password) throws Exception {
    var store = KeyStore.getInstance("PKCS12");
    try (var in = Files.newInputStream(file)) {
      store.load(in, password);
    }
    String alias = store.aliases().nextElement();
    return new PemKeyCertOptions()
        .addCertValue(pem("CERTIFICATE", store.getCertificate(alias).getEncoded()))
        .addKeyValue(pem("PRIVATE KEY", store.getKey(alias, password).getEncoded()));
  }

  private static Buffer pem(String what, byte[] der) {
    String base64 = Base64.getMimeEncoder().encodeToString(der);
    return Buffer.buffer("-----BEGIN %s-----\n%s\n-----END %1$s-----\n".formatted(what, base64));
  }
}
