package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.PolicyPlane.DENY;
import static dev.tranche.e2e.chart.PolicyPlane.EXEMPT;
import static dev.tranche.e2e.chart.PolicyPlane.VOID;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.plane.ControlPlane;
import io.fabric8.kubernetes.api.model.BindingBuilder;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.EnvVarBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.rbac.ClusterRoleBindingBuilder;
import io.fabric8.kubernetes.api.model.rbac.ClusterRoleBuilder;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

/**
 * The chart's admission policies in a real API server, without a webhook: what they refuse, and
 * what the largest pod costs.
 */
@Order(1_005)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GuardPolicyE2E {
  private static final String VARIABLE = "NVIDIA_VISIBLE_DEVICES";
  private static final String POLICY = "ValidatingAdmissionPolicy 'tranche-guard'";

  @AutoClose private PolicyPlane plane;
  private KubernetesClient client;

  @BeforeAll
  void start(@TempDir Path folder) throws IOException {
    plane = new PolicyPlane(folder, "");
    client = plane.client();
    Await.until(
        "the policies to be in force", 60, () -> !refusal(DENY, PodSpecs.pod("p")).isEmpty());
    Await.until(
        "the policies to be in force",
        60,
        () -> !refusal(VOID, PodSpecs.annotated("p", Map.of("cdi.k8s.io/x", "y"))).isEmpty());
  }

  @Test
  void podThatTheWebhookDidNotChange_isRefusedUnderDeny_only() {
    assertThat(refusal(DENY, PodSpecs.pod("p")))
        .contains(POLICY, "container \"main\" has neither a GPU nor NVIDIA_VISIBLE_DEVICES=void");
    assertThat(refusal(DENY, voided("p"))).isEmpty();
    assertThat(refusal(VOID, PodSpecs.pod("p"))).isEmpty();
    assertThat(refusal(EXEMPT, hostPath())).isEmpty();
    assertThat(refusal("kube-system", hostPath())).isEmpty();
  }

  /** GuardPolicyTest asks the same of the expressions, and GuardTest the webhook. */
  @ParameterizedTest
  @CsvFileSource(files = GuardPolicyTest.CASES, delimiter = '|', quoteCharacter = '`')
  void pod_isRefusedAsTheFileSays(String fields, String mode, String decides, String expected) {
    if (!decides.equals("webhook") && !mode.equals("audit")) {
      String pod = "{'apiVersion':'v1','kind':'Pod'," + fields + "}";
      String refusal =
          refusal(
              mode.equals("deny") ? DENY : VOID,
              named(Serialization.unmarshal(pod.replace('\'', '"'), Pod.class)));
      if (decides.equals("policy")) {
        assertThat(refusal).contains(expected);
      } else {
        assertThat(refusal).isEmpty();
      }
    }
  }

  private static PodBuilder named(Pod pod) {
    Stream.concat(
            pod.getSpec().getContainers().stream(), pod.getSpec().getInitContainers().stream())
        .forEach(container -> container.setImage("i"));
    return pod.edit().editOrNewMetadata().withName("p").endMetadata();
  }

  private static PodBuilder hostPath() {
    return voided("p")
        .editSpec()
        .addNewVolume()
        .withName("h")
        .withNewHostPath()
        .withPath("/var/log/pods")
        .endHostPath()
        .endVolume()
        .endSpec();
  }

  /** As much as docs/limits.md allows: 20,000 fields, and 1,000 entries of a list. */
  @Test
  void largestPod_isEvaluated_andALargerOneIsRefused() {
    assertThat(refusal(DENY, pod(annotations(1_000), containers(1_000, variables(6))))).isEmpty();
    assertThat(refusal(DENY, pod(Map.of(), containers(6, variables(1_000))))).isEmpty();
    assertThat(refusal(DENY, pod(Map.of(), containers(1_001, variables(1)))))
        .contains(POLICY, "larger than the guard checks");
    assertThat(refusal(DENY, pod(Map.of(), containers(1, variables(1_001)))))
        .contains(POLICY, "larger than the guard checks");
    for (String namespace : List.of(DENY, VOID)) {
      assertThat(refusal(namespace, pod(annotations(1_001), containers(1, variables(1)))))
          .contains("more annotations than the guard checks");
    }
  }

  /** The policies go through 1,000 annotations, and look up names among more. */
  @Test
  void podOfManyAnnotations_isAdmitted_andItsSharesAreJudged() {
    Map<String, String> many = annotations(40_000);
    List<Container> one = containers(1, List.of());
    assertThat(refusal(EXEMPT, pod(many, one))).isEmpty();
    for (String word : List.of("tranche.dev/gpu-fraction", "tranche.dev/gpu-memory.c0")) {
      var asks = new HashMap<>(many);
      asks.put(word, "0.5");
      // The webhook, which does not answer here, is asked about it.
      assertThat(refusal(EXEMPT, pod(asks, one))).contains("fraction.tranche.dev");
    }
    PodBuilder pod = pod(many, one).editMetadata().withName("many").endMetadata();
    client.pods().inNamespace(EXEMPT).resource(pod.build()).create();
    annotate(EXEMPT, "many", "example.com/mine", "1");
    for (String word : List.of("tranche.dev/gpu", "tranche.dev/gpu-fraction.c0")) {
      assertThatThrownBy(() -> annotate(EXEMPT, "many", word, "GPU-1"))
          .hasMessageContaining("are fixed at its creation");
    }
  }

  /** An error must not admit a pod. */
  @Test
  void podThatCostsTooMuch_isRefused() {
    assertThat(refusal(DENY, pod(Map.of(), containers(100, variables(1_000)))))
        .contains(POLICY, "cost limit exceeded");
  }

  /** Their keys have four characters each. */
  private static Map<String, String> annotations(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> Integer.toString(36 * 36 * 36 + i, 36))
        .collect(Collectors.toMap(key -> key, key -> ""));
  }

  @Test
  void annotationThatIsADevice_isRefusedAtTheCreation_andLater() {
    var devices = Map.of("devices.nri.io/container.main", "- path: /dev/nvidia0");
    for (String namespace : List.of(DENY, VOID)) {
      assertThat(
              refusal(namespace, voided("p").editMetadata().withAnnotations(devices).endMetadata()))
          .contains(
              "annotation devices.nri.io/container.main requests devices from a container runtime");
      client.pods().inNamespace(namespace).resource(voided("late").build()).create();
      assertThatThrownBy(() -> annotate(namespace, "late", "cdi.k8s.io/x", "nvidia.com/gpu=all"))
          .hasMessageContaining(
              "annotation cdi.k8s.io/x requests devices from a container runtime");
      assertThatThrownBy(
              () ->
                  client
                      .pods()
                      .inNamespace(namespace)
                      .withName("late")
                      .subresource("status")
                      .patch(
                          PatchContext.of(PatchType.JSON_MERGE),
                          "{\"metadata\":{\"annotations\":{\"devices.crio.io\":\"/dev/nvidia0\"}}}"))
          .hasMessageContaining(
              "annotation devices.crio.io requests devices from a container runtime");
      assertThatThrownBy(
              () ->
                  client
                      .bindings()
                      .inNamespace(namespace)
                      .resource(
                          new BindingBuilder()
                              .withNewMetadata()
                              .withName("late")
                              .withAnnotations(devices)
                              .endMetadata()
                              .withNewTarget()
                              .withKind("Node")
                              .withName("n")
                              .endTarget()
                              .build())
                      .create())
          .hasMessageContaining("annotation devices.nri.io/container.main requests");
      annotate(namespace, "late", "example.com/mine", "1");
    }
  }

  private static void label(KubernetesClient as, String namespace, String mode) {
    as.namespaces()
        .withName(namespace)
        .edit(n -> n.edit().editMetadata().addToLabels(mode(mode)).endMetadata().build());
  }

  @Test
  void webhooksAccount_writesItsCaBundle_andNothingElse() throws IOException {
    try (var account = account("system:serviceaccount:tranche:tranche-webhook")) {
      String path = "/webhooks/0/clientConfig/caBundle";
      String bundle = Files.readString(plane.plane().certificates().resolve("apiserver.crt"));
      assertThatCode(
              () ->
                  patch(
                      account,
                      path,
                      Serialization.asJson(
                          Base64.getEncoder().encodeToString(bundle.getBytes(UTF_8)))))
          .doesNotThrowAnyException();
      String all =
          "[{\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"resources\":[\"*/*\"],\"operations\":[\"*\"]}]";
      for (String[] change :
          new String[][] {
            {"/webhooks/0/rules", all},
            {"/webhooks/0/clientConfig", "{\"url\":\"https://example.com\"}"},
            {"/webhooks/0/matchConditions", "[]"},
            {"/webhooks/0/namespaceSelector", "{}"},
            {"/webhooks/0/failurePolicy", "\"Ignore\""},
            {"/webhooks", "[]"},
            {"/metadata/labels", "{}"}
          }) {
        assertThatThrownBy(() -> patch(account, change[0], change[1]))
            .as(change[0])
            .hasMessageContaining("may change nothing but caBundle");
      }
    }
  }

  private KubernetesClient account(String user, String... groups) {
    var config =
        new ConfigBuilder()
            .withMasterUrl(plane.plane().url())
            .withOauthToken(ControlPlane.token())
            .withTrustCerts(true)
            .withImpersonateUsername(user)
            .withImpersonateGroups(groups)
            .build();
    return new KubernetesClientBuilder().withConfig(config).build();
  }

  /** Else whoever may create or label namespaces would be exempt. */
  @Test
  void exemptNamespace_isOfWhoMayChangeTheGuard() {
    bind("namespace-maker", "", "namespaces");
    bind("guard-keeper", "admissionregistration.k8s.io", "validatingadmissionpolicies");
    try (var maker = account("maker", "namespace-maker");
        var keeper = account("keeper", "namespace-maker", "guard-keeper")) {
      assertThatThrownBy(() -> PolicyPlane.createNamespace(maker, "dcgm-exporter", Map.of()))
          .hasMessageContaining("the guard exempts namespaces of this name");
      assertThatThrownBy(() -> PolicyPlane.createNamespace(maker, "exempt-1", mode("exempt")))
          .hasMessageContaining("only who may update ValidatingAdmissionPolicy tranche-guard");
      PolicyPlane.createNamespace(maker, "mine", Map.of());
      assertThatThrownBy(() -> label(maker, "mine", "exempt"))
          .hasMessageContaining("decides what the guard does there");
      label(maker, "mine", "deny");
      assertThatThrownBy(() -> label(maker, "mine", "void"))
          .hasMessageContaining("decides what the guard does there");
      maker
          .namespaces()
          .withName("mine")
          .edit(n -> n.edit().editMetadata().addToLabels("a", "b").endMetadata().build());
      PolicyPlane.createNamespace(keeper, "dcgm-exporter", Map.of());
      label(keeper, "mine", "exempt");
    }
    client.namespaces().withName("mine").delete();
  }

  /** Gives a group all rights to a resource. */
  private void bind(String group, String apiGroup, String resource) {
    client
        .resource(
            new ClusterRoleBuilder()
                .withNewMetadata()
                .withName(group)
                .endMetadata()
                .addNewRule()
                .withApiGroups(apiGroup)
                .withResources(resource)
                .withVerbs("*")
                .endRule()
                .build())
        .create();
    client
        .resource(
            new ClusterRoleBindingBuilder()
                .withNewMetadata()
                .withName(group)
                .endMetadata()
                .withNewRoleRef("rbac.authorization.k8s.io", "ClusterRole", group)
                .addNewSubject("rbac.authorization.k8s.io", "Group", group, null)
                .build())
        .create();
  }

  private static Map<String, String> mode(String mode) {
    return Map.of("tranche.dev/guard", mode);
  }

  private static void patch(KubernetesClient account, String path, String value) {
    account
        .admissionRegistration()
        .v1()
        .mutatingWebhookConfigurations()
        .withName("tranche")
        .patch(
            PatchContext.of(PatchType.JSON),
            "[{\"op\":\"add\",\"path\":\"%s\",\"value\":%s}]".formatted(path, value));
  }

  private void annotate(String namespace, String name, String key, String value) {
    client
        .pods()
        .inNamespace(namespace)
        .withName(name)
        .edit(pod -> pod.edit().editMetadata().addToAnnotations(key, value).endMetadata().build());
  }

  private static PodBuilder voided(String name) {
    return PodSpecs.pod(name)
        .editSpec()
        .editFirstContainer()
        .withEnv(env())
        .endContainer()
        .endSpec();
  }

  private static EnvVar env() {
    return new EnvVarBuilder().withName(VARIABLE).withValue("void").build();
  }

  private static List<EnvVar> variables(int count) {
    return Stream.concat(
            IntStream.range(1, count).mapToObj(i -> new EnvVarBuilder().withName("V" + i).build()),
            Stream.of(env()))
        .toList();
  }

  private static List<Container> containers(int count, List<EnvVar> variables) {
    return IntStream.range(0, count)
        .mapToObj(
            i -> new ContainerBuilder().withName("c" + i).withImage("i").withEnv(variables).build())
        .toList();
  }

  private static PodBuilder pod(Map<String, String> annotations, List<Container> containers) {
    return PodSpecs.annotated("p", annotations).editSpec().withContainers(containers).endSpec();
  }

  private String refusal(String namespace, PodBuilder pod) {
    return plane.refusal(namespace, pod);
  }
}
