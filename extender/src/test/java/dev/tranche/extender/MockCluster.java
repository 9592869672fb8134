package dev.tranche.extender;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.Binding;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.ServiceBuilder;
import io.fabric8.kubernetes.api.model.authentication.TokenReview;
import io.fabric8.kubernetes.api.model.authentication.TokenReviewBuilder;
import io.fabric8.kubernetes.api.model.authorization.v1.SubjectAccessReviewBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.KubernetesMixedDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.ServerRequest;
import io.fabric8.mockwebserver.ServerResponse;
import io.fabric8.mockwebserver.utils.BodyProvider;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.SelfSignedCertificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** An API server that carries out bindings as the real one does: node and annotations at once. */
final class MockCluster implements AutoCloseable {
  /** May get /metrics, and nothing else. */
  static final String PROMETHEUS = "user-prometheus";

  private static final String NAMESPACE = "gpu";

  /** Tokens of people begin so, and are their names. */
  private static final String USER = "user-";

  private static final String VERBS = "tranche-extender-verbs";
  private final KubernetesMockServer server;
  private final KubernetesClient client;
  private final Set<String> accepted = ConcurrentHashMap.newKeySet();
  private final Set<String> viewers = ConcurrentHashMap.newKeySet();

  /** As {@code user verb namespace}. */
  private final Set<String> podRights = ConcurrentHashMap.newKeySet();

  private final AtomicInteger reviews = new AtomicInteger();
  private final CountDownLatch closed = new CountDownLatch(1);

  MockCluster() {
    var expected = new HashMap<ServerRequest, Queue<ServerResponse>>();
    var remembering = new KubernetesMixedDispatcher(expected);
    server =
        new KubernetesMockServer(
            new Context(Serialization.jsonMapper()),
            new MockWebServer(),
            expected,
            remembering,
            true);
    server.init();
    client = server.createClient();
  }

  KubernetesMockServer server() {
    return server;
  }

  KubernetesClient client() {
    return client;
  }

  /**
   * In the background: where a watch ends while an object is being sent to it, the mock's one
   * thread waits half a minute for itself, and closing it would fail the test.
   */
  @Override
  public void close() {
    closed.countDown();
    Thread.ofVirtual()
        .start(
            () -> {
              try (client) {
                server.destroy();
              }
            });
  }

  /** As the chart makes it; nothing is behind it yet. */
  void verbsService() {
    client
        .resource(
            new ServiceBuilder()
                .withNewMetadata()
                .withName(VERBS)
                .withNamespace(NAMESPACE)
                .endMetadata()
                .build())
        .create();
  }

  /** Addresses behind that Service. */
  List<String> verbsLeadTo() {
    var slice =
        client.discovery().v1().endpointSlices().inNamespace(NAMESPACE).withName(VERBS).get();
    return slice == null
        ? List.of()
        : slice.getEndpoints().stream().flatMap(e -> e.getAddresses().stream()).toList();
  }

  /** Of node plugins {@code token-of-NODE}, of another account {@code token-of-default}. */
  void reviewTokens() {
    onTokenReview(
        request -> {
          reviews.incrementAndGet();
          return review(
              new JsonObject(request.getBody().readUtf8())
                  .getJsonObject("spec")
                  .getString("token"));
        });
  }

  /** No token is reviewed to the end, so that a call is neither a node's nor refused. */
  void neverReviewTokens() {
    onTokenReview(
        request -> {
          try {
            closed.await();
          } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
          }
          return "";
        });
  }

  private void onTokenReview(BodyProvider<Object> answer) {
    server
        .expect()
        .post()
        .withPath("/apis/authentication.k8s.io/v1/tokenreviews")
        .andReply(201, answer)
        .always();
  }

  private static TokenReview review(String token) {
    if (token.startsWith(USER)) {
      return new TokenReviewBuilder()
          .withNewStatus()
          .withAuthenticated(true)
          .withNewUser()
          .withUsername(token)
          .withGroups("system:authenticated")
          .endUser()
          .endStatus()
          .build();
    }
    String account =
        token.equals("token-of-default") ? "team-a:default" : "gpu:tranche-node-plugin";
    return new TokenReviewBuilder()
        .withNewStatus()
        .withAuthenticated(token.startsWith("token-of-"))
        .withAudiences(Names.TOKEN_AUDIENCE)
        .withNewUser()
        .withUsername("system:serviceaccount:" + account)
        .addToExtra(
            "authentication.kubernetes.io/node-name", List.of(token.replace("token-of-", "")))
        .endUser()
        .endStatus()
        .build();
  }

  /**
   * Of non-resource URLs, by {@link #mayView} and by what every account may; of pods, by {@link
   * #mayOnPods}.
   */
  void reviewAccess() {
    server
        .expect()
        .post()
        .withPath("/apis/authorization.k8s.io/v1/subjectaccessreviews")
        .andReply(
            201,
            request -> {
              var spec = new JsonObject(request.getBody().readUtf8()).getJsonObject("spec");
              String user = spec.getString("user");
              var url = spec.getJsonObject("nonResourceAttributes");
              var pods = spec.getJsonObject("resourceAttributes");
              boolean allowed =
                  url == null
                      ? pods.getString("resource").equals("pods")
                          && podRights.contains(
                              String.join(
                                  " ", user, pods.getString("verb"), pods.getString("namespace")))
                      : url.getString("verb")
                              .equals(url.getString("path").endsWith("/what-if") ? "post" : "get")
                          && mayGet(user, url.getString("path"));
              return new SubjectAccessReviewBuilder()
                  .withNewStatus()
                  .withAllowed(allowed)
                  .endStatus()
                  .build();
            })
        .always();
  }

  /** The chart's ClusterRole is bound to that user. */
  void mayView(String user) {
    viewers.add(user);
  }

  /**
   * A role in a namespace is bound to that user.
   *
   * @param verbs on its pods
   */
  void mayOnPods(String user, String namespace, String... verbs) {
    for (String verb : verbs) {
      podRights.add(String.join(" ", user, verb, namespace));
    }
  }

  /** What the API server publishes of itself. */
  void frontProxy(String authorities) {
    client
        .resource(
            new ConfigMapBuilder()
                .withNewMetadata()
                .withName("extension-apiserver-authentication")
                .withNamespace("kube-system")
                .endMetadata()
                .addToData("requestheader-client-ca-file", authorities)
                .addToData("requestheader-allowed-names", "[\"front-proxy\"]")
                .addToData("requestheader-username-headers", "[\"X-Remote-User\"]")
                .addToData("requestheader-group-headers", "[\"X-Remote-Group\"]")
                .addToData("requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]")
                .build())
        .create();
  }

  boolean mayGet(String user, String path) {
    // The ClusterRole system:discovery is bound to all who are authenticated.
    return path.startsWith("/api/")
        || (viewers.contains(user) && path.startsWith("/tranche/api/v1/"))
        || (user.equals(PROMETHEUS) && path.equals("/metrics"));
  }

  /** How many tokens the API server was asked about. */
  int reviews() {
    return reviews.get();
  }

  void certificate() throws Exception {
    PemKeyCertOptions pem = SelfSignedCertificate.create("localhost").keyCertOptions();
    var secret =
        new SecretBuilder()
            .withNewMetadata()
            .withName("tranche-extender-tls")
            .withNamespace(NAMESPACE)
            .endMetadata()
            .addToData("tls.crt", base64(pem.getCertPath()))
            .addToData("tls.key", base64(pem.getKeyPath()))
            .build();
    client.secrets().inNamespace(NAMESPACE).resource(secret).create();
  }

  /** The watch shows the Secret again, with the same certificate. */
  void touchCertificate() {
    client
        .secrets()
        .inNamespace(NAMESPACE)
        .withName("tranche-extender-tls")
        .edit(
            secret ->
                new SecretBuilder(secret)
                    .editMetadata()
                    .addToAnnotations("touched", "true")
                    .endMetadata()
                    .build());
  }

  private static String base64(String file) throws Exception {
    return Base64.getEncoder().encodeToString(Files.readAllBytes(Path.of(file)));
  }

  void node(String name) {
    var node =
        new NodeBuilder()
            .withNewMetadata()
            .withName(name)
            .endMetadata()
            .withNewStatus()
            .addToAllocatable(Names.RESOURCE, new Quantity("80"))
            .endStatus()
            .build();
    client.nodes().resource(node).create();
  }

  /** A pod that can be bound once. */
  void pod(String name, int replicas) {
    Pod pod = ExtenderIT.template(name, replicas).build();
    client.pods().inNamespace("team-a").resource(pod).create();
    server
        .expect()
        .post()
        .withPath("/api/v1/namespaces/team-a/pods/" + name + "/binding")
        .andReply(
            201,
            request -> {
              var binding = Serialization.unmarshal(request.getBody().readUtf8(), Binding.class);
              accepted.add(name);
              // The mock answers on one thread, which must not wait for itself.
              Thread.ofVirtual().start(() -> carryOut(binding));
              return Map.of("kind", "Status", "apiVersion", "v1", "status", "Success");
            })
        .once();
  }

  /** A pod of another namespace, which holds replicas of a GPU. */
  void boundPod(String namespace, String name, int replicas, String gpu, String node) {
    Pod pod =
        ExtenderIT.template(name, replicas)
            .editMetadata()
            .withNamespace(namespace)
            .withUid("uid-of-" + name)
            .addToAnnotations(Names.GPU, gpu)
            .endMetadata()
            .editSpec()
            .withNodeName(node)
            .endSpec()
            .build();
    client.pods().inNamespace(namespace).resource(pod).create();
  }

  /** Node and annotations in one write. */
  void carryOut(Binding binding) {
    client
        .pods()
        .inNamespace("team-a")
        .withName(binding.getMetadata().getName())
        .edit(
            pod ->
                new PodBuilder(pod)
                    .editMetadata()
                    .addToAnnotations(binding.getMetadata().getAnnotations())
                    .endMetadata()
                    .editSpec()
                    .withNodeName(binding.getTarget().getName())
                    .endSpec()
                    .build());
  }

  /** Whether the API server has taken a binding of the pod; its object follows. */
  boolean accepted(String pod) {
    return accepted.contains(pod);
  }

  Pod pod(String name) {
    return client.pods().inNamespace("team-a").withName(name).get();
  }
}
