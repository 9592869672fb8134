package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;

import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.plane.ControlPlane;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A real API server with the chart's admission policies, and no webhook that answers. */
final class PolicyPlane implements AutoCloseable {
  static final String DENY = "denying";
  static final String VOID = "voiding";
  static final String EXEMPT = "exempted";

  private static final String V1 = "admissionregistration.k8s.io/v1";

  private final ControlPlane plane;

  /**
   * @param folder empty, for data and logs
   * @param arguments for {@code helm template}
   */
  PolicyPlane(Path folder, String arguments) throws IOException {
    plane =
        new ControlPlane(
            Artifacts.of(Path.of("..").toAbsolutePath().normalize()).kubernetes(),
            folder,
            mutatingPolicies(KubernetesVersion.minorOfClusters()));
    Map.of(DENY, "deny", VOID, "void", EXEMPT, "exempt")
        .forEach(
            (name, mode) -> createNamespace(client(), name, Map.of("tranche.dev/guard", mode)));
    documents(Chart.helmTemplate(arguments))
        .filter(
            document ->
                document.contains("\nkind: ValidatingAdmission")
                    || document.contains("\nkind: MutatingAdmission")
                    || document.contains("\nkind: ClusterRole")
                    || document.contains("\nkind: MutatingWebhookConfiguration\n"))
        .forEach(this::apply);
  }

  /** MutatingAdmissionPolicy is in beta and off in 1.34 and 1.35. Before, there is no beta. */
  private static List<String> mutatingPolicies(int minor) {
    return minor == 34 || minor == 35
        ? List.of(
            "--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=" + V1 + "beta1=true")
        : List.of();
  }

  /** Creates an object, in the version that the API server serves. */
  void apply(String yaml) {
    HasMetadata object = Serialization.unmarshal(inServedVersion("\n" + yaml));
    client().resource(withoutGuardWebhook(object)).create();
  }

  static void createNamespace(KubernetesClient as, String name, Map<String, String> labels) {
    as.resource(
            new NamespaceBuilder()
                .withNewMetadata()
                .withName(name)
                .withLabels(labels)
                .endMetadata()
                .build())
        .create();
  }

  private String inServedVersion(String document) {
    boolean served = client().raw("/apis/" + V1).contains("\"mutatingadmissionpolicies\"");
    return served || !document.contains("\nkind: MutatingAdmission")
        ? document
        : document.replace("apiVersion: " + V1 + "\n", "apiVersion: " + V1 + "beta1\n");
  }

  /** The guard's entries fail open, and would make every pod wait for their timeout. */
  private static HasMetadata withoutGuardWebhook(HasMetadata object) {
    if (object instanceof MutatingWebhookConfiguration configuration) {
      configuration.getWebhooks().removeIf(webhook -> webhook.getName().startsWith("guard"));
    }
    return object;
  }

  KubernetesClient client() {
    return plane.client();
  }

  ControlPlane plane() {
    return plane;
  }

  /** Returns the pod as it would be. */
  Pod dryRun(String namespace, PodBuilder pod) {
    return client().pods().inNamespace(namespace).resource(pod.build()).dryRun(true).create();
  }

  /** Returns why a pod would be refused; empty if it would not. */
  String refusal(String namespace, PodBuilder pod) {
    try {
      dryRun(namespace, pod);
      return "";
    } catch (KubernetesClientException refused) {
      return String.valueOf(refused.getMessage());
    }
  }

  @Override
  public void close() {
    plane.close();
  }
}
