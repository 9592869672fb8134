package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.expressions;
import static dev.tranche.webhook.Reviews.plain;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.selecting;
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
import java.util.Set;
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
  @EnumSource(names = {"GPUS", "REPLICAS"})
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

  private static PodMutator preferringDra(PlainRequests plain, String... replicaSchedulers) {
    MutationRules rules = PlainRequestsTest.rules(plain);
    return new PodMutator(
        new MutationRules(
            rules.resources(),
            rules.defaultReplicasPerGpu(),
            rules.schedulerName(),
            rules.runtimeClass(),
            rules.memory(),
            rules.dialects(),
            plain,
            ServedBy.DRA,
            Set.of(replicaSchedulers)));
  }

  private static ObjectNode with(ObjectNode pod, String field, String value) {
    ((ObjectNode) pod.path("spec")).put(field, value);
    return pod;
  }

  private static ObjectNode limits(ObjectNode pod) {
    return (ObjectNode) pod.at("/spec/containers/0/resources/limits");
  }

  /** The kubelet checks required node affinity, and would fail the pod. */
  @Test
  void nodeName_decidesAlone_andAddsNoRequirement() {
    PodMutator mutator = preferringDra(PlainRequests.GPUS);
    for (String scheduler : List.of("default-scheduler", "hub")) {
      for (String node : List.of("plugin", "dra", "unknown")) {
        ObjectNode pod = with(with(plain(1), "nodeName", node), "schedulerName", scheduler);
        Mutation mutation = mutator.mutate(pod, BOTH);
        JsonNode after = apply(mutation, pod);
        assertThat(replicas(after)).as(node).isEqualTo(node.equals("plugin") ? "10" : "1");
        assertThat(after.at("/spec/affinity").toString()).as(node).doesNotContain(LABEL);
        assertThat(warnings(mutation)).noneMatch(w -> w.contains("a DRA driver"));
        if (!node.equals("dra")) {
          assertThat(annotation(after, "gpus-served-by")).as(node).isEmpty();
        }
      }
    }
  }

  /** Otherwise one replica could become a whole GPU. */
  @Test
  void replicasOfAnotherSchedulersPod_areKeptOffDraNodes_andStay() {
    ObjectNode pod = with(plain(1), "schedulerName", "hub");
    MutationRules rules = PlainRequestsTest.rules(PlainRequests.REPLICAS);
    var mutator = new PodMutator(rules);
    Mutation mutation = mutator.mutate(pod, BOTH);
    JsonNode after = apply(mutation, pod);
    assertThat(replicas(after)).isEqualTo("1");
    assertThat(expressions(after)).containsExactly(NOT_IN);
    assertThat(warnings(mutation)).anyMatch(w -> w.contains("those with a device plugin"));
    assertThat(mutator.mutate(after, BOTH)).isInstanceOf(Mutation.Unchanged.class);
    ObjectNode mig = with(plain(1), "schedulerName", "hub");
    limits(mig).removeAll().put("nvidia.com/mig-1g.5gb", "2");
    JsonNode kept = apply(mutator(PlainRequests.GPUS).mutate(mig, BOTH), mig);
    assertThat(expressions(kept)).containsExactly(NOT_IN);
    ObjectNode none = with(Reviews.annotated(), "schedulerName", "hub");
    assertThat(mutator.mutate(none, BOTH)).isInstanceOf(Mutation.Unchanged.class);
  }

  @Test
  void replicaScheduler_decidesBeforeTheValue_butNotBeforeSelectors() {
    PodMutator mutator = preferringDra(PlainRequests.GPUS, "hub");
    ObjectNode pod = with(plain(1), "schedulerName", "hub");
    JsonNode after = apply(mutator.mutate(pod, BOTH), pod);
    assertThat(replicas(after)).isEqualTo("1");
    assertThat(expressions(after)).containsExactly(NOT_IN);
    assertThat(annotation(after, "gpus-served-by")).isEmpty();
    selecting(pod, "pool", "whole");
    JsonNode onDra = apply(mutator.mutate(pod, BOTH), pod);
    assertThat(expressions(onDra)).containsExactly(IN);
    assertThat(annotation(onDra, "gpus-served-by")).isEqualTo("dra");
  }

  @Test
  void value_choosesForTheFirstResourceAlone() {
    for (String scheduler : List.of("default-scheduler", "hub")) {
      ObjectNode mig = with(plain(1), "schedulerName", scheduler);
      limits(mig).removeAll().put("nvidia.com/mig-1g.5gb", "2");
      ObjectNode both = with(plain(1), "schedulerName", scheduler);
      limits(both).put("nvidia.com/mig-1g.5gb", "2");
      for (ObjectNode pod : List.of(mig, both)) {
        JsonNode after = apply(preferringDra(PlainRequests.REPLICAS).mutate(pod, BOTH), pod);
        assertThat(expressions(after)).containsExactly(NOT_IN);
        assertThat(annotation(after, "gpus-served-by")).isEmpty();
      }
    }
  }

  /** No node has the resource, so the pod would be pending for ever. */
  @Test
  void resourceOfAnotherSystem_isTakenFromAPodForDra_withItsWarning() {
    ObjectNode pod = selecting(plain(1), "pool", "whole");
    limits(pod).put("nvidia.com/priority", "1");
    Mutation mutation = mutator(PlainRequests.GPUS).mutate(pod, BOTH);
    JsonNode after = apply(mutation, pod);
    assertThat(limits((ObjectNode) after).has("nvidia.com/priority")).isFalse();
    assertThat(annotation(after, "gpus-served-by")).isEqualTo("dra");
    assertThat(warnings(mutation)).anyMatch(w -> w.contains("nvidia.com/priority"));
  }

  @Test
  void problemOfATranslation_deniesAPodForDra() {
    ObjectNode pod = selecting(plain(1), "pool", "whole");
    ((ObjectNode) pod.path("metadata").path("annotations")).put("gpu-memory", "much");
    assertThat(denial(mutator(PlainRequests.GPUS).mutate(pod, BOTH))).contains("gpu-memory");
  }

  /** Its number counts replicas already: ten of them must not become ten GPUs. */
  @Test
  void podWhoseNumberTrancheHasConverted_staysWithThePlugin_whenItIsRestored() {
    var before = new MutationRules.Cluster(List.of(PLUGIN), true);
    var now = new GpuNode("plugin", Map.of("tranche.dev/replicas-per-gpu", "4"));
    var onlyDra = new MutationRules.Cluster(List.of(DRA), true);
    for (String scheduler : List.of("default-scheduler", "hub")) {
      ObjectNode pod = with(plain(1), "schedulerName", scheduler);
      JsonNode stored = apply(mutator(PlainRequests.GPUS).mutate(pod, before), pod);
      assertThat(replicas(stored)).isEqualTo("10");
      PodMutator mutator = preferringDra(PlainRequests.GPUS);
      JsonNode restored = apply(mutator.mutate(stored, BOTH), stored);
      assertThat(replicas(restored)).isEqualTo("10");
      assertThat(expressions(restored)).contains(NOT_IN);
      assertThat(annotation(restored, "gpus-served-by")).isEmpty();
      var cluster = new MutationRules.Cluster(List.of(now, DRA), true);
      JsonNode other = apply(mutator.mutate(stored, cluster), stored);
      assertThat(replicas(other)).isEqualTo("4");
      JsonNode waiting = apply(mutator.mutate(stored, onlyDra), stored);
      assertThat(replicas(waiting)).isEqualTo("10");
      assertThat(expressions(waiting)).contains(NOT_IN);
    }
  }
}
