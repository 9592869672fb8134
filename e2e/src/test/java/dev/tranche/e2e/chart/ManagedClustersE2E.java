package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.plane.ControlPlane;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.ResourceQuota;
import io.fabric8.kubernetes.api.model.ResourceQuotaBuilder;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * What managed clusters add to the API server, imitated in a stock one: the table in {@code
 * docs/platform-engineer.md}. Whether the chart's pods are admitted is asked by dry runs.
 */
@Tag("slice3")
@Order(1_007)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ManagedClustersE2E {
  /** As GKE starts its API server, and as any cluster can that enforces a level by default. */
  private static final String ADMISSION =
      """
      apiVersion: apiserver.config.k8s.io/v1
      kind: AdmissionConfiguration
      plugins:
        - name: ResourceQuota
          configuration:
            apiVersion: apiserver.config.k8s.io/v1
            kind: ResourceQuotaConfiguration
            limitedResources:
              - resource: pods
                matchScopes:
                  - scopeName: PriorityClass
                    operator: In
                    values: [system-node-critical, system-cluster-critical]
        - name: PodSecurity
          configuration:
            apiVersion: pod-security.admission.config.k8s.io/v1
            kind: PodSecurityConfiguration
            defaults: {enforce: baseline, enforce-version: latest}
      """;

  /** The rule of OpenShift's restricted-v2 that sets a namespace's range of uids. */
  private static final String UID_RANGE =
      """
      apiVersion: admissionregistration.k8s.io/v1
      kind: ValidatingAdmissionPolicy
      metadata: {name: uids}
      spec:
        matchConstraints:
          resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
        variables:
          - name: uids
            expression: >-
              [object.spec.?securityContext.?runAsUser.orValue(1000700000), object.spec.?securityContext.?fsGroup.orValue(1000700000)]
              + object.spec.containers.map(c, c.?securityContext.?runAsUser.orValue(1000700000))
        validations:
          - expression: variables.uids.all(uid, uid >= 1000700000 && uid < 1000710000)
            message: a uid outside of the namespace's range
      """;

  private static final String UID_RANGE_BINDING =
      """
      apiVersion: admissionregistration.k8s.io/v1
      kind: ValidatingAdmissionPolicyBinding
      metadata: {name: uids}
      spec:
        policyName: uids
        validationActions: [Deny]
        matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: openshift}}}
      """;

  private static final String LEVEL = "pod-security.kubernetes.io/enforce";
  private static final String NODE_PLUGIN = "tranche-node-plugin";

  @AutoClose private ControlPlane plane;
  private KubernetesClient client;

  @BeforeAll
  void start(@TempDir Path folder) throws IOException {
    Path admission = Files.writeString(folder.resolve("admission.yaml"), ADMISSION);
    plane =
        new ControlPlane(
            Artifacts.of(Path.of("..").toAbsolutePath().normalize()).kubernetes(),
            folder.resolve("plane"),
            List.of("--admission-control-config-file=" + admission));
    client = plane.client();
    Map.of(
            "tranche", Map.of(LEVEL, "privileged"),
            "openshift", Map.of(LEVEL, "privileged"),
            "unlabelled", Map.<String, String>of(),
            "labelled", Map.of(LEVEL, "privileged"),
            "strict", Map.of(LEVEL, "restricted"))
        .forEach((name, labels) -> PolicyPlane.createNamespace(client, name, labels));
    Stream.of(UID_RANGE, UID_RANGE_BINDING)
        .forEach(yaml -> client.resource(Serialization.<HasMetadata>unmarshal(yaml)).create());
    Await.until(
        "the policy to be in force",
        60,
        () ->
            !refusal(
                    "openshift",
                    new PodBuilder()
                        .withNewMetadata()
                        .withName("root")
                        .endMetadata()
                        .withNewSpec()
                        .withNewSecurityContext()
                        .withRunAsUser(0L)
                        .endSecurityContext()
                        .addNewContainer()
                        .withName("c")
                        .withImage("i")
                        .endContainer()
                        .endSpec()
                        .build())
                .isEmpty());
  }

  /** GKE. */
  @Test
  void podsOfSystemPriority_areAdmittedUnderTheChartsQuota_only() {
    String rendered = Chart.render(Map.of());
    assertThat(quota(rendered)).isEmpty();
    Map<String, Pod> pods = pods(rendered);
    assertThat(pods).hasSize(3);
    assertThat(refusals("tranche", pods).values())
        .hasSize(3)
        .allMatch(why -> why.contains("insufficient quota to match these scopes"));

    ResourceQuota quota =
        quota(Chart.render(Map.of("criticalPodsQuota.enabled", true))).orElseThrow();
    client.resource(quota).create();
    // No controller runs here that counts the pods.
    client
        .resource(
            new ResourceQuotaBuilder(quota)
                .withNewStatus()
                .withHard(quota.getSpec().getHard())
                .addToUsed("pods", new Quantity("0"))
                .endStatus()
                .build())
        .updateStatus();
    Await.until(
        "the pods to be admitted",
        30,
        () -> refusals("tranche", pods).isEmpty(),
        () -> refusals("tranche", pods).toString());
  }

  /** A cluster whose API server enforces a level where no label says otherwise. */
  @Test
  void levelByDefault_refusesTheNodePlugin_untilTheNamespaceIsLabelled() {
    Map<String, Pod> pods = pods(Chart.render(Map.of()));
    pods.replaceAll((name, pod) -> ofNoPriority(pod));
    assertThat(refusals("unlabelled", pods)).containsOnlyKeys(NODE_PLUGIN);
    assertThat(refusals("unlabelled", pods).get(NODE_PLUGIN)).contains("baseline:latest");
    assertThat(refusals("strict", pods)).containsOnlyKeys(NODE_PLUGIN);
    assertThat(refusals("labelled", pods)).isEmpty();
  }

  /** OpenShift; the node plugin has a constraint of its own there. */
  @Test
  void rangeOfUids_isKept_withThePagesValues(@TempDir Path folder) throws IOException {
    Map<String, Pod> pods = pods(Chart.render(Map.of()));
    pods.replaceAll((name, pod) -> ofNoPriority(pod));
    assertThat(refusals("openshift", pods)).containsKeys("tranche-extender", "tranche-webhook");

    String page = Files.readString(Path.of("../docs/platform-engineer.md"));
    String context = "{runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}";
    assertThat(page).contains("`" + context + "`");
    String values =
        "webhook: {podSecurityContext: %1$s}\nextender: {podSecurityContext: %1$s}\n"
            .formatted(context);
    Map<String, Pod> changed = pods(Chart.renderFile(folder, values));
    changed.replaceAll((name, pod) -> ofNoPriority(pod));
    assertThat(refusals("openshift", changed)).containsOnlyKeys(NODE_PLUGIN);
  }

  /** All but the Prometheus Operator's objects, which {@link KubeconformIT} judges. */
  @Test
  void valuesForProduction_areAccepted(@TempDir Path folder) throws IOException {
    PolicyPlane.createNamespace(client, "monitoring", Map.of());
    String values = Files.readString(Chart.FOLDER.resolve("values-production.yaml"));
    List<HasMetadata> objects =
        documents(Chart.renderFile(folder, values))
            .filter(document -> document.contains("\nkind: "))
            .filter(document -> !document.contains("\napiVersion: monitoring.coreos.com/"))
            .map(document -> Serialization.<HasMetadata>unmarshal(document))
            .toList();
    assertThat(objects).hasSizeGreaterThan(40);
    objects.forEach(each -> client.resource(each).dryRun(true).create());
  }

  /** The pods that the chart's workloads create, by the workload's name. */
  private static Map<String, Pod> pods(String rendered) {
    var pods = new TreeMap<String, Pod>();
    documents(rendered)
        .filter(
            document ->
                document.contains("\nkind: DaemonSet\n")
                    || document.contains("\nkind: Deployment\n"))
        .map(document -> Serialization.<HasMetadata>unmarshal(document))
        .forEach(workload -> pods.put(workload.getMetadata().getName(), pod(workload)));
    return pods;
  }

  private static Pod pod(HasMetadata workload) {
    PodTemplateSpec template =
        workload instanceof DaemonSet daemonSet
            ? daemonSet.getSpec().getTemplate()
            : ((Deployment) workload).getSpec().getTemplate();
    return new PodBuilder()
        .withMetadata(template.getMetadata())
        .editMetadata()
        .withName(workload.getMetadata().getName())
        .endMetadata()
        .withSpec(template.getSpec())
        .build();
  }

  /** Otherwise the quota would refuse it, too. */
  private static Pod ofNoPriority(Pod pod) {
    return new PodBuilder(pod).editSpec().withPriorityClassName(null).endSpec().build();
  }

  private static Optional<ResourceQuota> quota(String rendered) {
    return documents(rendered)
        .filter(document -> document.contains("\nkind: ResourceQuota\n"))
        .map(document -> Serialization.<ResourceQuota>unmarshal(document))
        .findFirst();
  }

  /** Why each is refused, without those that are not. */
  private Map<String, String> refusals(String namespace, Map<String, Pod> pods) {
    var refused = new TreeMap<String, String>();
    pods.forEach(
        (name, pod) -> {
          String why = refusal(namespace, pod);
          if (!why.isEmpty()) {
            refused.put(name, why);
          }
        });
    return refused;
  }

  private String refusal(String namespace, Pod pod) {
    try {
      client.pods().inNamespace(namespace).resource(pod).dryRun(true).create();
      return "";
    } catch (KubernetesClientException refused) {
      return String.valueOf(refused.getMessage());
    }
  }
}
