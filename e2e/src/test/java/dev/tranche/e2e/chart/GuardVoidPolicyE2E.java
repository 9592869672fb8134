package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.PolicyPlane.DENY;
import static dev.tranche.e2e.chart.PolicyPlane.EXEMPT;
import static dev.tranche.e2e.chart.PolicyPlane.VOID;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.EnvVarBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** The void that an API server adds by itself, where it serves MutatingAdmissionPolicy. */
@Order(1_006)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GuardVoidPolicyE2E {
  private static final String NAME = "NVIDIA_VISIBLE_DEVICES";

  @AutoClose private PolicyPlane plane;

  @BeforeAll
  void start(@TempDir Path folder) throws IOException {
    plane =
        new PolicyPlane(
            folder, "--api-versions admissionregistration.k8s.io/v1/MutatingAdmissionPolicy");
    Await.until(
        "the policy to be in force",
        60,
        () ->
            values(plane.dryRun(VOID, PodSpecs.pod("p")).getSpec().getContainers().getFirst())
                .equals(List.of("void")));
    Await.until(
        "the guard's policy to be in force", 60, () -> !plane.refusal(DENY, opening()).isEmpty());
  }

  private static PodBuilder opening() {
    return PodSpecs.pod("p")
        .editSpec()
        .addToContainers(container("all", variable(NAME, "all")))
        .endSpec();
  }

  @Test
  void containersWithoutAGpu_getTheVoid_withoutAWebhook() {
    PodBuilder pod =
        PodSpecs.pod("p")
            .editSpec()
            .editFirstContainer()
            .withEnv(variable("A", "1"))
            .endContainer()
            .addToContainers(container("all", variable(NAME, "all")))
            .addToContainers(container("none", variable(NAME, "none")))
            .addToInitContainers(container("first"))
            .endSpec();
    Pod voided = plane.dryRun(VOID, pod);
    assertThat(voided.getSpec().getInitContainers())
        .singleElement()
        .extracting(GuardVoidPolicyE2E::values)
        .isEqualTo(List.of("void"));
    assertThat(voided.getSpec().getContainers())
        .extracting(GuardVoidPolicyE2E::values)
        .containsExactly(List.of("void"), List.of("all", "void"), List.of("none"));
    assertThat(voided.getSpec().getContainers().getFirst().getEnv()).hasSize(2);
  }

  @Test
  void underDeny_podsAreAdmittedWithTheVoid_andAllIsStillRefused() {
    assertThat(plane.refusal(DENY, PodSpecs.pod("p"))).isEmpty();
    assertThat(plane.refusal(DENY, opening()))
        .contains("container \"all\" sets a variable that opens devices");
  }

  @Test
  void podsThatTheWebhookDecidesAbout_areLeftToIt() {
    assertThat(plane.refusal(VOID, PodSpecs.fraction("p", "0.5")))
        .as("the webhook does not answer here, and it fails closed")
        .contains("fraction.tranche.dev");
    Pod mig = plane.dryRun(VOID, PodSpecs.plain("p", "nvidia.com/mig-1g.5gb", 1));
    assertThat(values(mig.getSpec().getContainers().getFirst())).isEmpty();
    Pod exempt = plane.dryRun(EXEMPT, PodSpecs.pod("p"));
    assertThat(values(exempt.getSpec().getContainers().getFirst())).isEmpty();
  }

  @Test
  void debugContainer_getsTheVoid() {
    var debugged =
        plane.client().pods().inNamespace(VOID).resource(PodSpecs.pod("debugged").build());
    debugged.create();
    for (String name : List.of("d", "e")) {
      debugged
          .subresource("ephemeralcontainers")
          .patch(
              PatchContext.of(PatchType.STRATEGIC_MERGE),
              "{\"spec\":{\"ephemeralContainers\":[{\"name\":\"%s\",\"image\":\"i\"}]}}"
                  .formatted(name));
    }
    assertThat(debugged.get().getSpec().getEphemeralContainers())
        .extracting(container -> container.getEnv().getFirst().getValue())
        .containsExactly("void", "void");
  }

  @Test
  void largestPod_getsTheVoid() {
    List<Container> many =
        IntStream.range(0, 1_000)
            .mapToObj(
                i ->
                    container(
                        "c" + i,
                        variable("A", "1"),
                        variable("B", "1"),
                        variable("C", "1"),
                        variable("D", "1"),
                        variable("E", "1")))
            .toList();
    Pod voided = plane.dryRun(VOID, PodSpecs.pod("p").editSpec().withContainers(many).endSpec());
    assertThat(voided.getSpec().getContainers())
        .allMatch(container -> values(container).equals(List.of("void")));
  }

  /** As a sidecar injector does, after our policy. */
  @Test
  void containerThatIsInjectedLater_getsTheVoid() {
    plane.apply(
        """
        apiVersion: admissionregistration.k8s.io/v1
        kind: MutatingAdmissionPolicy
        metadata: {name: z-injector}
        spec:
          failurePolicy: Fail
          reinvocationPolicy: Never
          matchConstraints:
            resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
          matchConditions:
            - {name: asks-for-it, expression: "has(object.metadata.labels) && 'inject' in object.metadata.labels"}
          mutations:
            - patchType: JSONPatch
              jsonPatch:
                expression: >-
                  [JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 'sidecar', 'image': 'i'}}]
        """);
    plane.apply(
        """
        apiVersion: admissionregistration.k8s.io/v1
        kind: MutatingAdmissionPolicyBinding
        metadata: {name: z-injector}
        spec: {policyName: z-injector}
        """);
    PodBuilder pod = PodSpecs.pod("p").editMetadata().addToLabels("inject", "1").endMetadata();
    Await.until(
        "the injector to be in force",
        60,
        () -> plane.dryRun(EXEMPT, pod).getSpec().getContainers().size() == 2);
    assertThat(plane.dryRun(VOID, pod).getSpec().getContainers())
        .extracting(GuardVoidPolicyE2E::values)
        .containsExactly(List.of("void"), List.of("void"));
  }

  private static Container container(String name, EnvVar... variables) {
    return new ContainerBuilder(PodSpecs.container(name)).withEnv(variables).build();
  }

  private static EnvVar variable(String name, String value) {
    return new EnvVarBuilder().withName(name).withValue(value).build();
  }

  private static List<String> values(Container container) {
    return container.getEnv().stream()
        .filter(variable -> variable.getName().equals(NAME))
        .map(EnvVar::getValue)
        .toList();
  }
}
