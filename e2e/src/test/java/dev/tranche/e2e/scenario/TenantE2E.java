package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Namespaces;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.APIService;
import io.fabric8.kubernetes.api.model.APIServiceBuilder;
import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.dsl.RollableScalableResource;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A tenant, who has the ClusterRole {@code edit} in one namespace and no other right. */
@Tag("slice2")
@Order(230)
class TenantE2E extends Scenario {
  private static final String API_SERVICE = "v1.read.tranche.dev";
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private final String neighbours = namespace + "-neighbours";

  @TempDir private Path folder;

  @Override
  Map<String, Object> values() {
    return Map.of("extender.api.aggregated.enabled", true);
  }

  @BeforeEach
  void start() throws Exception {
    Namespaces.create(client(), neighbours);
    awaitAvailable("True");
    kubectl("-n", namespace, "create", "serviceaccount", "tenant");
    kubectl(
        "-n",
        namespace,
        "create",
        "rolebinding",
        "tenant",
        "--clusterrole=edit",
        "--serviceaccount=" + namespace + ":tenant");
    String token = kubectl("-n", namespace, "create", "token", "tenant").strip();
    Files.copy(tranche().kubeconfig(), kubeconfig());
    asTenant("config", "set-credentials", "tenant", "--token=" + token);
    asTenant("config", "set-context", "--current", "--user=tenant", "--namespace=" + namespace);
  }

  @AfterEach
  void end() {
    client().pods().inNamespace(neighbours).withGracePeriod(0).delete();
    client().namespaces().withName(neighbours).delete();
  }

  private Path kubeconfig() {
    return folder.resolve("kubeconfig");
  }

  private static void awaitAvailable(String status) {
    Await.until(
        "the APIService to be Available=" + status,
        120,
        () -> available().equals(status),
        () -> kubectl("get", "apiservice", API_SERVICE, "-o", "yaml"));
  }

  private static String available() {
    return kubectl(
        "get",
        "apiservice",
        API_SERVICE,
        "-o",
        "jsonpath={.status.conditions[?(@.type==\"Available\")].status}");
  }

  @Test
  void tenant_seesTheirOwn_throughTheApiServer() throws Exception {
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("mine", "0.3")));
    allRunning(1);
    String uuid = assigned(get("mine")).iterator().next();
    PodBuilder neighbour =
        PodSpecs.annotated(
            "secret-project", Map.of(Names.GPU_FRACTION, "0.4", Names.GPU_UUID, uuid));
    client().pods().inNamespace(neighbours).resource(PodSpecs.on(ALPHA, neighbour)).create();
    Await.until(
        "the neighbour on the same GPU",
        RUNNING_SECONDS,
        () -> plugin("top", "gpus").out().matches("(?s).*alpha +\\d +Tesla T4 +0.7 +0.4 .*"),
        () -> plugin("top", "gpus").toString());

    assertThat(asTenant("auth", "can-i", "list", "pods", "--all-namespaces").out())
        .startsWith("no");
    List<UserCommand> answers = new ArrayList<>();
    answers.add(plugin("top", "pods"));
    assertThat(answers.getLast().out().lines())
        .hasSize(2)
        .anyMatch(line -> line.matches(".* mine +Bound +alpha .*"));
    answers.add(plugin("top", "gpus", "-o", "wide"));
    answers.add(plugin("top"));
    assertThat(answers.getLast().out())
        .startsWith("Namespace:     " + namespace + "\nPods:          1\n");
    answers.add(plugin("explain", "mine", "-o", "wide"));
    assertThat(answers.getLast().out()).contains("State:         Bound");
    Await.until("a first sample", 60, () -> plugin("history", ALPHA).status() == 0);
    answers.add(plugin("history", ALPHA));
    assertThat(answers.getLast().out()).contains(uuid);
    answers.add(plugin("what-if", "--fraction", "0.2"));
    assertThat(answers.getLast().out()).startsWith("Fits:          yes\n");
    answers.add(asTenant("get", "gpus"));
    assertThat(answers.getLast().out()).contains("OTHERS", "alpha");
    answers.add(asTenant("get", "pods.read.tranche.dev"));
    assertThat(answers.getLast().out()).contains("mine");
    answers.add(asTenant("get", "pods.read.tranche.dev", "mine", "-o", "yaml"));
    assertThat(answers.getLast().out()).contains("state: Bound");
    assertThat(answers)
        .allSatisfy(
            answer -> {
              assertThat(answer.status()).as(answer.toString()).isZero();
              assertThat(answer.out() + answer.errors())
                  .doesNotContain("secret-project", neighbours);
            });

    UserCommand others = plugin("top", "pods", "-n", neighbours);
    assertThat(others.status()).isEqualTo(1);
    assertThat(others.errors()).contains("(Forbidden)").doesNotContain("secret-project");
    UserCommand whole = plugin("top", "nodes");
    assertThat(whole.status()).isEqualTo(1);
    assertThat(whole.errors())
        .contains("is about all namespaces", "Role tranche-kubectl in the namespace tranche")
        .doesNotContain("(Forbidden)");
  }

  /** The price of an aggregated API, and what its administrator does. */
  @Test
  void namespace_isNotDeletedWhileNoExtenderAnswers_untilTheApiServiceIsDeleted() {
    RollableScalableResource<Deployment> extender =
        client().apps().deployments().inNamespace(Tranche.NAMESPACE).withName("tranche-extender");
    int replicas = extender.get().getSpec().getReplicas();
    APIService service = client().apiServices().withName(API_SERVICE).get();
    try {
      extender.scale(0);
      awaitAvailable("False");
      client().namespaces().withName(neighbours).delete();
      Await.until("the deletion to be held up", 60, () -> heldUp().contains("read.tranche.dev"));

      kubectl("delete", "apiservice", API_SERVICE);
      Await.until("the namespace to be gone", 120, () -> neighbours() == null);
    } finally {
      client()
          .resource(
              new APIServiceBuilder(service)
                  .editMetadata()
                  .withResourceVersion(null)
                  .withUid(null)
                  .endMetadata()
                  .editSpec()
                  .withCaBundle(null)
                  .endSpec()
                  .withStatus(null)
                  .build())
          .createOr(existing -> existing.patch());
      extender.scale(replicas);
      // The extender writes the caBundle anew.
      awaitAvailable("True");
      Await.until(
          "all extenders to be ready",
          120,
          () -> Integer.valueOf(replicas).equals(extender.get().getStatus().getReadyReplicas()));
    }
  }

  private @Nullable Namespace neighbours() {
    return client().namespaces().withName(neighbours).get();
  }

  /** Why the namespace's content is not known. */
  private String heldUp() {
    return kubectl(
        "get",
        "namespace",
        neighbours,
        "-o",
        "jsonpath={.status.conditions[?(@.type==\"NamespaceDeletionDiscoveryFailure\")].message}");
  }

  private UserCommand plugin(String... words) {
    return run(List.of("sh", UserCommand.PLUGIN), words);
  }

  private UserCommand asTenant(String... words) {
    return run(List.of(UserCommand.kubectl()), words);
  }

  private UserCommand run(List<String> program, String... words) {
    var command = new ArrayList<>(program);
    command.addAll(List.of(words));
    return UserCommand.run(folder, kubeconfig(), command);
  }
}
