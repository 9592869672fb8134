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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "{'matchExpressions':[ZONE,TEN]} | {'matchExpressions':[ZONE]}",
        "{'matchExpressions':[TEN]} | ",
        // Terms are alternatives, and an empty one admits no node.
        "{'matchExpressions':[TEN]},{'matchExpressions':[ZONE,TEN]} | ",
        "{'matchExpressions':[FIVE]} | {'matchExpressions':[FIVE]}",
      })
  void ownersPod_isWithoutWhatTheWebhookHasAdded(String terms, @Nullable String owners) {
    ObjectNode pod = Reviews.annotated("webhook-added", expressions("{'requirements':[TEN]}"));
    JsonNode given = Reviews.json(expressions("[" + terms + "]"));
    Reviews.requiring(pod, "any", "Exists");
    pod.withArray(Reviews.TERMS).removeAll().addAll((ArrayNode) given);
    var arrived = new PodView(pod);
    JsonNode left =
        OwnersPod.of(arrived, Added.of(arrived), GPU, label -> true).pod().requiredTerms();
    assertThat(left.isMissingNode() ? "" : left.toString())
        .isEqualTo(owners == null ? "" : expressions("[" + owners + "]"));
  }

  private static String expressions(String text) {
    String in = "{'key':'%s','operator':'In','values':['%s']}";
    return text.replace("ZONE", in.formatted("zone", "x"))
        .replace("TEN", in.formatted(OURS, "10"))
        .replace("FIVE", in.formatted(OURS, "5"))
        .replace('\'', '"');
  }

  /** An update's pod is read without the limits of a new one. */
  @Test
  void longAnnotationOfWhatWasAdded_isNotRead() {
    String none = "{\"schedulerName\":\"x\",\"y\":[%s[]]}".formatted("[],".repeat(30_000));
    assertThat(Added.of(new PodView(Reviews.annotated("webhook-added", none))))
        .isEqualTo(Added.NOTHING);
  }
}
