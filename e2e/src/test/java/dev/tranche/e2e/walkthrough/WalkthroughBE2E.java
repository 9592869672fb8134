package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.ResourceRequirements;
import java.util.LinkedHashMap;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** A ConfigMap with a named entry, nodes chosen by label. */
@Order(1_080)
class WalkthroughBE2E {
  private static final String LABELLED = "labelled";
  private static final String OTHER = "other";

  @Test
  void page_worksAsItStands() {
    var nodes = new LinkedHashMap<String, List<Model>>();
    nodes.put(OTHER, List.of(Model.A10G));
    nodes.put(LABELLED, List.of(Model.A10G));
    try (var reader = Walkthrough.start("b-label-and-karpenter.md", nodes, node -> node)) {
      reader.terminal().set("NODE", LABELLED);
      reader.type("Choose the nodes");
      reader.type("Install");
      assertThat(reader.pods("kube-system", "app.kubernetes.io/component", "node-plugin"))
          .singleElement()
          .satisfies(pod -> assertThat(pod.getSpec().getNodeName()).isEqualTo(LABELLED));

      reader.type("Share by a ConfigMap");
      // A webhook of before may still be there and answer.
      for (int i = 0; i < 20; i++) {
        assertThat(admitted(reader).getLimits()).containsEntry("nvidia.com/gpu", new Quantity("1"));
      }
      reader.awaitAllocatable(LABELLED, 10);
      assertThat(reader.allocatable(OTHER, "nvidia.com/gpu")).isZero();

      reader.type("Five pods on one GPU");
      assertThat(reader.pods("default", "app", "five"))
          .hasSize(5)
          .allSatisfy(
              pod -> {
                assertThat(pod.getSpec().getNodeName()).isEqualTo(LABELLED);
                assertThat(reader.injected(pod)).containsExactly(reader.gpus(LABELLED).uuid(0));
              });

      karpenterIsThere(reader);
      assertThat(reader.type("Karpenter"))
          .contains("ec2nodeclass.karpenter.k8s.aws/gpu", "nodepool.karpenter.sh/gpu")
          .contains("nodeoverlay.karpenter.sh/gpu-g5-2xlarge");
      assertThat(spec(reader, "nodepool", "{.template.metadata.labels}"))
          .contains("\"nvidia.com/gpu.present\":\"true\"", "\"nvidia.com/gpu.replicas\":\"10\"");
      assertThat(spec(reader, "nodeoverlay", "{.capacity}"))
          .isEqualTo("{\"nvidia.com/gpu\":\"10\"}");
    }
  }

  /** What a plain request becomes; the pod is not created. */
  private static ResourceRequirements admitted(Walkthrough reader) {
    Pod pod = PodSpecs.plain("plain", 1).build();
    return reader
        .client()
        .pods()
        .inNamespace("default")
        .resource(pod)
        .dryRun()
        .create()
        .getSpec()
        .getContainers()
        .getFirst()
        .getResources();
  }

  /** Its resources only; the API server's own validation is what is wanted, CEL rules included. */
  private static void karpenterIsThere(Walkthrough reader) {
    String script = Walkthrough.ROOT.resolve(".build/kubeconform.sh").toString();
    reader
        .terminal()
        .type(
            "for file in $(%s)/crds/karpenter*; do kubectl apply --server-side -f $file; done; kubectl wait --for=condition=Established crd --all --timeout=60s"
                .formatted(script))
        .orFail("installing Karpenter's resources");
  }

  private static String spec(Walkthrough reader, String kind, String path) {
    String jsonPath = path.replace("{.", "{.items[0].spec.");
    return reader
        .terminal()
        .type("kubectl get %s -o jsonpath='%s'".formatted(kind, jsonPath))
        .orFail("asking for the " + kind);
  }
}
