package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@EnableKubernetesMockClient(crud = true)
@SuppressWarnings("NullAway.Init") // The mock server's extension sets the client.
final class CleanupIT {
  private static final String NAMESPACE = "gpu";
  KubernetesClient client;
  private Cleanup cleanup;

  @BeforeEach
  void start() {
    cleanup = new Cleanup(client, "tranche", NAMESPACE);
  }

  @Test
  void nodes_loseOurWords_andKeepTheirOwnAndOthers() throws Exception {
    node(
        "labelled",
        Map.of(
            "nvidia.com/gpu.present",
            "true",
            "nvidia.com/gpu.count",
            "2",
            "nvidia.com/gpu.replicas",
            "4",
            "zone",
            "a"),
        Map.of(
            Names.NODE_LABELS,
            "nvidia.com/gpu.present=true,nvidia.com/gpu.count=2,nvidia.com/gpu.replicas=10",
            Names.RETRY_TIME,
            "2026-01-01T00:00:00Z",
            "tranche.dev/room",
            "2025-12-01T00:00:00Z",
            Names.GPU_USE,
            "0.0 of 2 GPUs granted, 32 GiB memory, use not measured, as of 2026-01-01T00:00:00Z",
            Names.CORDON_GPUS,
            "0"));
    node("other", Map.of("nvidia.com/gpu.count", "8"), Map.of());
    node("served", Map.of(Names.SERVED_BY, Names.DRA, "zone", "b"), Map.of());
    assertThat(cleanup.run(1)).isEqualTo(2);
    assertThat(left(client.nodes().withName("served").get().getMetadata().getLabels()))
        .containsOnly(Map.entry("zone", "b"));
    var cleaned = client.nodes().withName("labelled").get().getMetadata();
    assertThat(left(cleaned.getLabels()))
        .as("another has changed the replicas since")
        .containsOnly(Map.entry("nvidia.com/gpu.replicas", "4"), Map.entry("zone", "a"));
    assertThat(left(cleaned.getAnnotations())).containsOnlyKeys(Names.CORDON_GPUS);
    assertThat(client.nodes().withName("other").get().getMetadata().getLabels())
        .containsEntry("nvidia.com/gpu.count", "8");
  }

  @Test
  void certificatesAndLeases_go_andTheSecretsOfOthersStay() throws Exception {
    for (String secret : new String[] {"tranche-ca", "tranche-extender-tls", "theirs"}) {
      client
          .resource(
              new SecretBuilder()
                  .withNewMetadata()
                  .withName(secret)
                  .withNamespace(NAMESPACE)
                  .endMetadata()
                  .build())
          .create();
    }
    client
        .resource(
            new LeaseBuilder()
                .withNewMetadata()
                .withName("tranche-extender")
                .withNamespace(NAMESPACE)
                .endMetadata()
                .build())
        .create();
    cleanup.run(1);
    assertThat(client.secrets().inNamespace(NAMESPACE).list().getItems())
        .extracting(secret -> secret.getMetadata().getName())
        .containsExactly("theirs");
    assertThat(client.leases().inNamespace(NAMESPACE).list().getItems()).isEmpty();
  }

  @Test
  void writersThatStillRun_areWaitedFor() {
    pod("tranche-extender-1", "extender");
    pod("tranche-cleanup-1", "cleanup");
    node("labelled", Map.of(), Map.of(Names.RETRY_TIME, "now"));
    assertThatThrownBy(() -> cleanup.run(1))
        .hasMessageContaining("[tranche-extender-1] of namespace gpu still run");
    assertThat(client.nodes().withName("labelled").get().getMetadata().getAnnotations())
        .containsKey(Names.RETRY_TIME);
  }

  /** The mock keeps the nulls of a merge patch, where the API server takes the keys away. */
  private static Map<String, String> left(Map<String, String> patched) {
    return patched.entrySet().stream()
        .filter(e -> e.getValue() != null)
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  private void node(String name, Map<String, String> labels, Map<String, String> annotations) {
    client
        .resource(
            new NodeBuilder()
                .withNewMetadata()
                .withName(name)
                .withLabels(labels)
                .withAnnotations(annotations)
                .endMetadata()
                .build())
        .create();
  }

  private void pod(String name, String component) {
    client
        .resource(
            new PodBuilder()
                .withNewMetadata()
                .withName(name)
                .withNamespace(NAMESPACE)
                .addToLabels("app.kubernetes.io/name", "tranche")
                .addToLabels("app.kubernetes.io/component", component)
                .endMetadata()
                .build())
        .create();
  }
}
