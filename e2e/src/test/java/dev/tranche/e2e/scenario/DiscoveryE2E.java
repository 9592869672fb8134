package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.FeatureDiscovery;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Sizing;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Beside NVIDIA's GPU Feature Discovery, which knows nothing of the node plugin's config. */
@Tag("matrix")
@Order(90)
class DiscoveryE2E {
  private static final String NFD = "nfd-master";

  @Test
  void discoveryWithoutTheSharingConfig_isOverruled_andNotFoughtWith() throws IOException {
    try (var node =
        OneNode.start(
            "discovery-" + UUID.randomUUID().toString().substring(0, 8),
            List.of(Model.T4, Model.T4),
            gpus -> {},
            Map.of())) {
      node.awaitAllocatable(Names.RESOURCE, 20);
      awaitLabels(node, "10", "10");

      Map<String, String> discovered =
          FeatureDiscovery.labels(Shell.built("nvidia-plugin"), node.gpus());
      assertThat(discovered)
          .containsEntry("nvidia.com/gpu.replicas", "1")
          .containsEntry("nvidia.com/gpu.sharing-strategy", "none")
          .containsEntry("nvidia.com/gpu.product", "Tesla-T4")
          .containsEntry("nvidia.com/gpu.count", "2")
          .containsEntry("nvidia.com/mps.capable", "false");
      label(node, new JsonObject(Map.copyOf(discovered)));
      Sizing.await(node.client(), OneNode.NAMESPACE, 10);
      Pod share = node.run(PodSpecs.fraction("share", "0.3").build());
      assertThat(node.held(share).get("main")).hasSize(3);
      awaitLabels(node, "10", "1");

      node.setConfig("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 5}]}}");
      awaitLabels(node, "5", "1");
      Sizing.await(node.client(), OneNode.NAMESPACE, 5);
      Pod next = node.run(PodSpecs.fraction("next", "0.4").build());
      assertThat(node.held(next).get("main")).hasSize(2);

      // Without Feature Discovery, Node Feature Discovery removes what it wrote.
      var gone = new JsonObject();
      discovered.keySet().forEach(gone::putNull);
      label(node, gone);
      awaitLabels(node, "5", "5");
    }
  }

  /** As Node Feature Discovery's master writes what Feature Discovery has found. */
  private static void label(OneNode node, JsonObject labels) {
    var manager =
        new PatchContext.Builder()
            .withPatchType(PatchType.JSON_MERGE)
            .withFieldManager(NFD)
            .build();
    node.client()
        .nodes()
        .withName(OneNode.NODE)
        .patch(
            manager,
            new JsonObject().put("metadata", new JsonObject().put("labels", labels)).encode());
  }

  private static void awaitLabels(OneNode node, String ours, String nvidias) {
    Await.until(
        "the labels to say %s by the report, and %s".formatted(ours, nvidias),
        240,
        () -> {
          var labels = node.client().nodes().withName(OneNode.NODE).get().getMetadata().getLabels();
          return ours.equals(labels.get(Names.LABEL_REPLICAS_PER_GPU))
              && nvidias.equals(labels.get(Names.LABEL_REPLICAS));
        },
        () -> node.kubectl("get", "node", OneNode.NODE, "-o", "yaml", "--show-managed-fields"));
  }
}
