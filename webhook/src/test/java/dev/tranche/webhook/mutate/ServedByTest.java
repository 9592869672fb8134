package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.expressions;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.PlainRequestsTest;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Mutation;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Nodes whose GPUs a DRA driver serves, beside nodes with Tranche's plugin. */
class ServedByTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String LABEL = "tranche.dev/gpus-served-by";
  private static final String IN =
      "{\"key\":\"" + LABEL + "\",\"operator\":\"In\",\"values\":[\"dra\"]}";
  private static final String NOT_IN =
      "{\"key\":\"" + LABEL + "\",\"operator\":\"NotIn\",\"values\":[\"dra\"]}";

  private static final GpuNode PLUGIN =
      new GpuNode("plugin", Map.of("tranche.dev/replicas-per-gpu", "10", "pool", "shared"));

  /** As GPU Feature Discovery and an earlier plugin have labelled it. */
  private static final GpuNode DRA =
      new GpuNode("dra", Map.of(LABEL, "dra", "nvidia.com/gpu.replicas", "1", "pool", "whole"));

  private static final MutationRules.Cluster BOTH =
      new MutationRules.Cluster(List.of(PLUGIN, DRA), true);
  private static final MutationRules.Cluster NONE = new MutationRules.Cluster(List.of(), true);

  private static PodMutator mutator(PlainRequests plain) {
    return new PodMutator(PlainRequestsTest.rules(plain));
  }

  private static ObjectNode plain(int number) {
    ObjectNode pod = Reviews.annotated();
    ((ObjectNode) pod.at("/spec/containers/0"))
        .putObject("resources")
        .putObject("limits")
        .put(GPU, String.valueOf(number));
    return pod;
  }

  private static ObjectNode selecting(ObjectNode pod, String label, String value) {
    ((ObjectNode) pod.path("spec")).putObject("nodeSelector").put(label, value);
    return pod;
  }

  @Test
  void plainPodWithoutSelectors_isKeptOffDraNodes_withItsReplicas() {
    Mutation mutation = mutator(PlainRequests.GPUS).mutate(plain(1), BOTH);
    JsonNode after = apply(mutation, plain(1));
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(expressions(after)).containsExactly(NOT_IN);
    assertThat(warnings(mutation)).anyMatch(w -> w.contains("those with a device plugin"));
    assertThat(mutator(PlainRequests.GPUS).mutate(after, BOTH))
        .isInstanceOf(Mutation.Unchanged.class);
    assertThat(mutator(PlainRequests.GPUS).mutate(after, NONE))
        .as("a restored pod whose nodes are gone")
        .isInstanceOf(Mutation.Unchanged.class);
  }

  @Test
  void share_isKeptOffDraNodes_whateverTheValue() {
    ObjectNode half = Reviews.annotated("gpu-fraction", "0.5");
    var preferringDra =
        new PodMutator(PlainRequestsTest.rules(PlainRequests.GPUS).with(ServedBy.DRA));
    Mutation mutation = preferringDra.mutate(half, BOTH);
    JsonNode after = apply(mutation, half);
    assertThat(replicas(after)).isEqualTo("5");
    assertThat(expressions(after)).containsExactly(NOT_IN);
    assertThat(warnings(mutation)).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(PlainRequests.class)
  void plainPod_whoseSelectorsLeaveDraNodes_keepsItsNumberAndItsScheduler(PlainRequests plain) {
    ObjectNode pod = selecting(plain(2), "pool", "whole");
    Mutation mutation = mutator(plain).mutate(pod, BOTH);
    JsonNode after = apply(mutation, pod);
    assertThat(replicas(after)).isEqualTo("2");
    assertThat(expressions(after)).containsExactly(IN);
    assertThat(annotation(after, "gpus-served-by")).isEqualTo("dra");
    assertThat(annotation(after, "replicas-per-gpu")).isEmpty();
    assertThat(after.path("spec").has("schedulerName")).isFalse();
    assertThat(after.path("spec").has("runtimeClassName")).isFalse();
    assertThat(warnings(mutation)).isEmpty();
    for (var cluster : List.of(BOTH, NONE)) {
      assertThat(mutator(plain).mutate(after, cluster)).isInstanceOf(Mutation.Unchanged.class);
    }
  }

  @Test
  void selectorsThatLeavePluginNodes_meanThePlugin_whateverTheValue() {
    ObjectNode pod = selecting(plain(1), "pool", "shared");
    var preferringDra =
        new PodMutator(PlainRequestsTest.rules(PlainRequests.GPUS).with(ServedBy.DRA));
    JsonNode after = apply(preferringDra.mutate(pod, BOTH), pod);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(annotation(after, "gpus-served-by")).isEmpty();
  }

  @Test
  void value_choosesDra_whereSelectorsLeaveBoth_orNoNodeIsThereYet() {
    var preferringDra =
        new PodMutator(PlainRequestsTest.rules(PlainRequests.GPUS).with(ServedBy.DRA));
    for (var cluster : List.of(BOTH, NONE)) {
      JsonNode after = apply(preferringDra.mutate(plain(1), cluster), plain(1));
      assertThat(replicas(after)).isEqualTo("1");
      assertThat(expressions(after)).containsExactly(IN);
    }
    assertThat(warnings(preferringDra.mutate(plain(1), BOTH)))
        .anyMatch(w -> w.contains("those with a DRA driver"));
  }

  @Test
  void podThatRequiresTheLabel_isForDra_beforeAnyNodeIs() {
    ObjectNode pod = selecting(plain(1), LABEL, "dra");
    JsonNode after = apply(mutator(PlainRequests.GPUS).mutate(pod, NONE), pod);
    assertThat(replicas(after)).isEqualTo("1");
    assertThat(after.path("spec").has("affinity")).isFalse();
  }

  @Test
  void annotationThatTheUserWrites_decidesNothing() {
    ObjectNode pod = plain(1);
    ((ObjectNode) pod.path("metadata").path("annotations")).put(LABEL, "dra");
    JsonNode after = apply(mutator(PlainRequests.GPUS).mutate(pod, BOTH), pod);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(after.path("metadata").path("annotations").has(LABEL)).isFalse();
  }

  @Test
  void placementAnnotation_meansThePlugin_sinceOnlyItKnowsGpus() {
    ObjectNode pod = selecting(plain(1), "pool", "whole");
    ((ObjectNode) pod.path("metadata").path("annotations"))
        .put("tranche.dev/gpu-placement", "load");
    JsonNode after = apply(mutator(PlainRequests.GPUS).mutate(pod, BOTH), pod);
    assertThat(expressions(after)).contains(NOT_IN);
    assertThat(annotation(after, "gpus-served-by")).isEmpty();
  }

  @Test
  void shareThatSelectsDraNodesAlone_waits_andIsWarned() {
    ObjectNode half = selecting(Reviews.annotated("gpu-fraction", "0.5"), "pool", "whole");
    Mutation mutation = mutator(PlainRequests.GPUS).mutate(half, BOTH);
    assertThat(expressions(apply(mutation, half))).contains(NOT_IN);
    assertThat(warnings(mutation)).anyMatch(w -> w.contains("a share needs the plugin"));
  }

  @Test
  void numberOfAnotherSchedulersPod_isConvertedOffDraNodes_andKeptOnThem() {
    ObjectNode other = plain(1);
    ((ObjectNode) other.path("spec")).put("schedulerName", "hub");
    JsonNode off = apply(mutator(PlainRequests.GPUS).mutate(other, BOTH), other);
    assertThat(replicas(off)).isEqualTo("10");
    assertThat(expressions(off)).containsExactly(NOT_IN);
    selecting(other, "pool", "whole");
    JsonNode on = apply(mutator(PlainRequests.GPUS).mutate(other, BOTH), other);
    assertThat(replicas(on)).isEqualTo("1");
    assertThat(expressions(on)).containsExactly(IN);
    assertThat(on.path("spec").path("schedulerName").asText()).isEqualTo("hub");
  }

  @Test
  void clusterWithoutDra_changesNoAffinity() {
    var cluster = new MutationRules.Cluster(List.of(PLUGIN), true);
    JsonNode after = apply(mutator(PlainRequests.GPUS).mutate(plain(1), cluster), plain(1));
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(after.path("spec").has("affinity")).isFalse();
  }

  @Test
  void requirement_isWrittenBackWhenTheManifestIsAppliedAgain() {
    ObjectNode pod = plain(1);
    ((ObjectNode) pod.path("spec"))
        .putObject("affinity")
        .putObject("nodeAffinity")
        .putObject("requiredDuringSchedulingIgnoredDuringExecution")
        .putArray("nodeSelectorTerms")
        .addObject()
        .putArray("matchExpressions")
        .addObject()
        .put("key", "pool")
        .put("operator", "Exists");
    JsonNode before = apply(mutator(PlainRequests.GPUS).mutate(pod, BOTH), pod);
    assertThat(expressions(before)).contains(NOT_IN);
    Mutation again = PodUpdate.restore(before, pod, PlainRequestsTest.rules(PlainRequests.GPUS));
    assertThat(apply(again, pod).at("/spec/affinity")).isEqualTo(before.at("/spec/affinity"));
  }
}
