package dev.tranche.e2e.scenario;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code kubectl tranche} as a user who has the rights of docs/kubectl.md and no others. */
@Order(30)
class KubectlPluginE2E extends Scenario {
  private static final String USER = "olivia";
  private static final String ROLE = "tranche-kubectl";
  private static final String CORDON = "kubectl-cordon";
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  @TempDir private Path folder;

  @BeforeEach
  void allow() throws Exception {
    String page = Files.readString(ROOT.resolve("docs/kubectl.md"));
    String role = page.substring(page.indexOf("```yaml\n") + 8);
    role = role.substring(0, role.indexOf("```"));
    client().load(new ByteArrayInputStream(role.getBytes(UTF_8))).serverSideApply();
    kubectl(
        "-n", Tranche.NAMESPACE, "create", "rolebinding", ROLE, "--role=" + ROLE, "--user=" + USER);
  }

  @AfterEach
  void forbid() {
    kubectl(
        "-n",
        Tranche.NAMESPACE,
        "delete",
        "--ignore-not-found",
        "rolebinding/" + ROLE,
        "role/" + ROLE);
  }

  @Test
  void podOfAFullNode_isFull_inEventAndExplain_thoughFilterIsNeverCalled() throws Exception {
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("one", "1")));
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("two", "1")));
    allRunning(2);
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("three", "0.3")));
    assertThat(pendingMessage("three")).contains("Insufficient nvidia.com/gpu");

    UserCommand waiting = plugin("explain", "three", "-n", namespace);
    assertThat(waiting.out())
        .startsWith("Waits because: Full: it needs 0.3 of one GPU, and no GPU")
        .contains("\nWhat to do:    Wait until ", "kube-scheduler has not called this extender");
    Await.until(
        "the event with the same reason",
        90,
        () ->
            events("three").stream()
                .anyMatch(
                    event ->
                        "NoGpuFits".equals(event.getReason())
                            && event.getMessage().startsWith("Full: it needs 0.3 of one GPU")));
    assertThat(plugin("top", "pods", "-n", namespace).out())
        .containsPattern("three +Waiting .* Full");
  }

  @Test
  void userWithTheRole_seesWhoHoldsWhat_andWhyOthersWait() throws Exception {
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("one", "0.8")));
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("two", "0.8")));
    allRunning(2);
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("three", "0.3")));
    pendingMessage("three");

    UserCommand bound = plugin("explain", "one", "-n", namespace);
    assertThat(bound.errors()).isEmpty();
    assertThat(bound.out()).contains("State:         Bound", "Node:          alpha");
    assertThat(bound.status()).isZero();

    UserCommand waiting = plugin("explain", "three", "-n", namespace);
    assertThat(waiting.status()).as(waiting.toString()).isEqualTo(3);
    assertThat(waiting.out()).contains("Waits because: Fragmented: ", "Nodes, nearest:\nNODE");

    kubectl("-n", namespace, "create", "role", "author", "--verb=create", "--resource=pods");
    kubectl("-n", namespace, "create", "rolebinding", "author", "--role=author", "--user=" + USER);
    UserCommand fits = plugin("what-if", "--fraction", "0.6", "--count", "4", "-n", namespace);
    assertThat(fits.errors()).isEmpty();
    assertThat(fits.out()).startsWith("Fits:          4 of 4\n").contains("Node:          ");
    assertThat(fits.status()).isZero();
    Path manifest = folder.resolve("job.yaml");
    Files.writeString(
        manifest,
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec:
          template:
            metadata:
              annotations: {tranche.dev/gpu-fraction: "0.3"}
            spec:
              restartPolicy: Never
              nodeSelector: {kubernetes.io/hostname: alpha}
              containers: [{name: main, image: none}]
        """);
    UserCommand wouldWait = plugin("what-if", "-f", manifest.toString(), "-n", namespace, "-ojson");
    assertThat(wouldWait.out()).contains("\"fits\" : false,\n", "\"reason\" : \"Fragmented\",\n");
    assertThat(wouldWait.status()).isEqualTo(3);

    UserCommand unknown = plugin("explain", "nobody", "-n", namespace);
    assertThat(unknown.status()).isEqualTo(4);
    assertThat(unknown.errors()).contains("pod " + namespace + "/nobody is not known");

    assertThat(plugin("top").out().lines())
        .hasSize(4)
        .anyMatch(line -> line.matches("alpha +2 +1.6 +80% .*"));
    assertThat(plugin("top", "gpus", "-n", namespace, "-o", "wide").out())
        .contains(namespace + "/one", namespace + "/two");
    assertThat(plugin("top", "pods", "-n", namespace).out().lines())
        .hasSize(4)
        .anyMatch(line -> line.matches(".* three +Waiting .* Fragmented +\\d+\\w"));
  }

  @Test
  void check_findsNothing_untilTheNamespaceRefusesThePlugin() throws Exception {
    UserCommand healthy = run(List.of("check", "-n", namespace));
    assertThat(healthy.out().lines())
        .as(healthy.toString())
        .allMatch(line -> line.startsWith("ok "))
        .anyMatch(line -> line.matches("ok +gpus +nodes that offer GPUs: 3"));
    assertThat(healthy.status()).isZero();

    String label = "pod-security.kubernetes.io/enforce";
    kubectl("label", "namespace", Tranche.NAMESPACE, label + "=baseline");
    try {
      String plugin = tranche().parts("node-plugin").getFirst().getMetadata().getName();
      kubectl("-n", Tranche.NAMESPACE, "delete", "pod", plugin);
      Await.until(
          "check to say why",
          60,
          () ->
              run(List.of("check", "-n", namespace))
                  .out()
                  .contains("has 2 of 3 pods ready; Error creating: pods \""));
      UserCommand refused = run(List.of("check", "-n", namespace));
      assertThat(refused.status()).isEqualTo(3);
      assertThat(refused.out()).contains("violates PodSecurity \"baseline:latest\"", "do: ");
    } finally {
      kubectl("label", "namespace", Tranche.NAMESPACE, label + "-");
      // Any change makes the controller try again at once.
      String plugins = "daemonset/tranche-node-plugin";
      kubectl("-n", Tranche.NAMESPACE, "annotate", plugins, "tried=again");
      kubectl("-n", Tranche.NAMESPACE, "rollout", "status", plugins, "--timeout=90s");
    }
  }

  @Test
  void drain_evictsThePodsOfOneGpu_andCordonsIt() throws Exception {
    kubectl("create", "clusterrole", CORDON, "--verb=get,patch", "--resource=nodes");
    kubectl("create", "clusterrolebinding", CORDON, "--clusterrole=" + CORDON, "--user=" + USER);
    kubectl("-n", namespace, "create", "role", "e", "--verb=create", "--resource=pods/eviction");
    kubectl("-n", namespace, "create", "rolebinding", "e", "--role=e", "--user=" + USER);
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("first", "0.8")));
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("second", "0.8")));
    allRunning(2);
    String evicted = tranche().gpus(ALPHA).uuid(0);
    String stays = assigned(get("first")).contains(evicted) ? "second" : "first";
    try {
      UserCommand shown = plugin("drain", ALPHA + "/0", "--dry-run");
      assertThat(shown.out())
          .startsWith("Cordons GPU 0 of node alpha, and evicts:\nNAMESPACE ")
          .doesNotContain(stays);
      assertThat(pods()).hasSize(2);

      UserCommand drained = plugin("drain", ALPHA + "/0", "--yes");
      assertThat(drained.status()).as(drained.toString()).isZero();
      assertThat(drained.out()).endsWith("no pod is known to be on GPU 0 of node alpha\n");
      assertThat(pods()).extracting(pod -> pod.getMetadata().getName()).containsExactly(stays);
      assertThat(plugin("top", "gpus").out()).containsPattern("alpha +0 .* Cordoned ");
      assertThat(plugin("uncordon", ALPHA + "/0").out())
          .isEqualTo("GPU 0 of node alpha uncordoned\n");
    } finally {
      kubectl("annotate", "node", ALPHA, "tranche.dev/cordon-gpus-");
      kubectl("delete", "clusterrole/" + CORDON, "clusterrolebinding/" + CORDON);
    }
  }

  @Test
  void supportBundle_hasNoSecrets() throws Exception {
    String secret = "c2VjcmV0LW9mLXRoaXMtdGVzdA==";
    client()
        .resource(
            new SecretBuilder()
                .withNewMetadata()
                .withNamespace(Tranche.NAMESPACE)
                .withName("secret-of-" + namespace)
                .endMetadata()
                .addToData("password", secret)
                .build())
        .create();
    try {
      Path file = folder.resolve("bundle.tar.gz");
      UserCommand made = run(List.of("support-bundle", "--file", file.toString()));
      assertThat(made.status()).as(made.toString()).isZero();
      String content = Shell.run(folder, "tar xvzOf bundle.tar.gz").orFail();
      assertThat(content)
          .contains("kubectl-tranche ", "\"cluster\" : {", "MutatingWebhookConfiguration")
          .contains("--policy=load")
          .doesNotContain("missing.txt", secret, "secret-of-this-test", "PRIVATE KEY")
          .doesNotContainPattern("eyJ[\\w-]+\\.[\\w-]+\\.");
    } finally {
      kubectl("-n", Tranche.NAMESPACE, "delete", "secret", "secret-of-" + namespace);
    }
  }

  private UserCommand plugin(String... words) {
    var asUser = new ArrayList<>(Arrays.asList(words));
    asUser.addAll(List.of("--as", USER));
    return run(asUser);
  }

  private UserCommand run(List<String> words) {
    var command = new ArrayList<>(List.of("sh", UserCommand.PLUGIN));
    command.addAll(words);
    return UserCommand.run(folder, tranche().kubeconfig(), command);
  }
}
