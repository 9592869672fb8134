package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.pod;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The label of the node plugin's report decides, and what the webhook adds by it is known as its
 * own.
 */
final class ReportedReplicasTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String OURS = "tranche.dev/replicas-per-gpu";
  private static final String NVIDIAS = "nvidia.com/gpu.replicas";

  /** What GPU Feature Discovery writes without a config. */
  private static final Map<String, String> DISCOVERED =
      Map.of(
          NVIDIAS,
          "1",
          "nvidia.com/gpu.sharing-strategy",
          "none",
          "nvidia.com/gpu.product",
          "Tesla-T4",
          "nvidia.com/gpu.count",
          "1",
          "nvidia.com/cuda.driver.major",
          "580");

  private static GpuNode node(Map<String, String> labels, String... more) {
    var all = new HashMap<>(labels);
    for (int i = 0; i < more.length; i += 2) {
      all.put(more[i], more[i + 1]);
    }
    return new GpuNode("a", all, Map.of(GPU, 10L), Taints.NONE);
  }

  private static String replicasPerGpu(GpuNode node) {
    var mutator = new PodMutator(Reviews.rules(List.of(GPU), 4, "tranche-scheduler", "nvidia"));
    ObjectNode half = Reviews.annotated("gpu-fraction", "0.5");
    var cluster = Reviews.cluster(node);
    return annotation(apply(mutator.mutate(half, cluster), half), "replicas-per-gpu");
  }

  @Test
  void share_isSizedByTheReport_andNeverByDiscovery_whichLabelsForeignNodesToo() {
    GpuNode reported = node(DISCOVERED, OURS, "10");
    assertThat(replicasPerGpu(reported)).isEqualTo("10");
    assertThat(reported.isForeign()).isFalse();
    for (var labels : List.of(DISCOVERED, Map.of(NVIDIAS, "10"))) {
      GpuNode unreported = node(labels);
      assertThat(replicasPerGpu(unreported)).isEqualTo("4");
      assertThat(unreported.isForeign()).isTrue();
    }
  }

  /** The annotation says which requirements are ours: the others are the owner's. */
  @Test
  void ownersPod_isWithoutWhatTheWebhookHasAdded() {
    assertThat(owners(term(in("zone", "x"), in(OURS, "10")))).isEqualTo(array(zone("x")));
    assertThat(owners(term(in(OURS, "10"))).isMissingNode()).isTrue();
    assertThat(owners(term(in(OURS, "10")), term(in("zone", "x"), in(OURS, "10"))).isMissingNode())
        .as("terms are alternatives, and an empty one admits no node")
        .isTrue();
    assertThat(owners(term(in(OURS, "5")))).isEqualTo(array(term(in(OURS, "5"))));
  }

  /** An update's pod is read without the limits of a new one. */
  @Test
  void longAnnotationOfWhatWasAdded_isNotRead() {
    String none = "{\"schedulerName\":\"x\",\"y\":[%s[]]}".formatted("[],".repeat(30_000));
    assertThat(Added.of(new PodView(Reviews.annotated("webhook-added", none))))
        .isEqualTo(Added.NOTHING);
  }

  private static JsonNode owners(String... terms) {
    ObjectNode pod = pod("deployment").deepCopy();
    String added = in(OURS, "10");
    pod.withObject("/metadata/annotations")
        .put(
            "tranche.dev/webhook-added",
            "{'requirements':[%s]}".formatted(added).replace('\'', '"'));
    ((ObjectNode) pod.path("spec")).set("affinity", affinity(terms));
    var arrived = new PodView(pod);
    return OwnersPod.of(arrived, Added.of(arrived), "nvidia.com/gpu", label -> true)
        .pod()
        .pod()
        .at(Reviews.TERMS);
  }

  private static String in(String label, String value) {
    return "{'key':'%s','operator':'In','values':['%s']}".formatted(label, value);
  }

  private static String term(String... expressions) {
    return "{'matchExpressions':[%s]}".formatted(String.join(",", expressions));
  }

  private static String zone(String zone) {
    return term(in("zone", zone));
  }

  private static ArrayNode array(String... terms) {
    return (ArrayNode) Reviews.json("[%s]".formatted(String.join(",", terms)).replace('\'', '"'));
  }

  private static JsonNode affinity(String... terms) {
    ObjectNode affinity = (ObjectNode) Reviews.json("{}");
    affinity
        .putObject("nodeAffinity")
        .putObject("requiredDuringSchedulingIgnoredDuringExecution")
        .set("nodeSelectorTerms", array(terms));
    return affinity;
  }
}
