package dev.tranche.webhook;

import static dev.tranche.webhook.Reviews.TERMS;
import static dev.tranche.webhook.Reviews.annotated;
import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.cluster;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.plain;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.requiring;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.pod.Mutation;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A pod that one cluster has admitted and a backup brings to another. What Tranche wrote on it is
 * not its owner's wish: it ends like the owner's pod would there.
 */
class RestoredPodTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final GpuNode LARGE = node("large", "10", "nvidia.com/gpu.memory", "23028");
  private static final GpuNode SMALL = node("small", "10", "nvidia.com/gpu.memory", "15360");
  private static final GpuNode FOUR = node("four", "4", "nvidia.com/gpu.memory", "81920");
  private static final GpuNode DRA = Reviews.node("dra", "tranche.dev/gpus-served-by", "dra");

  static Stream<Arguments> pods() {
    var arguments = new ArrayList<Arguments>();
    ObjectNode zoned = requiring(annotated("gpu-memory", "4Gi"), "zone", "In", "a");
    for (ObjectNode pod :
        List.of(
            annotated("gpu-memory", "4Gi"),
            zoned,
            gated(annotated("gpu-memory", "4Gi")),
            annotated("gpu-memory.main", "4Gi"),
            annotated("gpu-fraction", "0.3"),
            plain(1),
            plain(2))) {
      for (List<GpuNode> from :
          List.of(List.of(LARGE), List.of(LARGE, SMALL), List.of(FOUR, LARGE))) {
        for (List<GpuNode> to : List.of(List.of(SMALL), List.of(FOUR))) {
          arguments.add(Arguments.of(pod, from, to));
        }
      }
    }
    return arguments.stream();
  }

  @ParameterizedTest
  @MethodSource("pods")
  void restoredPod_isWhatItsOwnersPodWouldBe(ObjectNode pod, List<GpuNode> from, List<GpuNode> to) {
    for (PlainRequests plain : PlainRequests.values()) {
      JsonNode stored = apply(mutator(PlainRequests.GPUS).mutate(pod, cluster(from)), pod);
      var mutator = mutator(plain);
      JsonNode restored = apply(mutator.mutate(stored, cluster(to)), stored);
      JsonNode fresh = apply(mutator.mutate(pod, cluster(to)), pod);
      assertThat(replicas(restored)).isEqualTo(replicas(fresh));
      for (String written : List.of("replicas-per-gpu", "granted-fraction", "gpus-requested")) {
        assertThat(annotation(restored, written)).isEqualTo(annotation(fresh, written));
      }
      for (GpuNode node : to) {
        assertThat(new NodeSelection(restored.path("spec")).admits(node))
            .as("admits %s: %s", node.name(), restored)
            .isEqualTo(new NodeSelection(fresh.path("spec")).admits(node));
      }
      assertThat(mutator.mutate(restored, cluster(to))).matches(Reviews::changesNothing);
    }
  }

  /** A requirement of the default replicas waits for such nodes. By memory it would be denied. */
  @Test
  void memory_onNodesOfOtherReplicasThanTheDefault_isSizedForThem() {
    var mutator = new PodMutator(Reviews.rules(List.of(GPU), 10, "tranche-scheduler", ""));
    ObjectNode pod = annotated("gpu-memory", "4Gi");
    JsonNode stored = apply(mutator.mutate(pod, cluster(List.of(LARGE, SMALL, FOUR))), pod);
    JsonNode restored = apply(mutator.mutate(stored, cluster(FOUR)), stored);
    assertThat(annotation(restored, "replicas-per-gpu")).isEqualTo("4");
    assertThat(new NodeSelection(restored.path("spec")).admits(FOUR)).isTrue();
  }

  /** A scheduler of its own, or a node that it names, changes nothing about what Tranche wrote. */
  @ParameterizedTest
  @ValueSource(strings = {"{}", "{'schedulerName':'hub'}", "{'nodeName':'foreign'}"})
  void wholeGpu_whereANumberCountsReplicas_isTheOwnersNumberAgain_withAWarning(String spec) {
    ObjectNode stored = (ObjectNode) admitted(PlainRequests.GPUS, plain(1), LARGE);
    assertThat(replicas(stored)).isEqualTo("10");
    stored.withObject("/spec").put("schedulerName", "default-scheduler");
    ((ObjectNode) stored.path("spec")).setAll((ObjectNode) Reviews.json(spec));
    Mutation mutation = mutator(PlainRequests.REPLICAS).mutate(stored, cluster(FOUR));
    JsonNode restored = apply(mutation, stored);
    assertThat(replicas(restored)).isEqualTo("1");
    assertThat(restored.at("/spec/containers/0/resources/requests").path(GPU).asText())
        .isEqualTo("1");
    assertThat(annotation(restored, "gpus-requested")).isEmpty();
    assertThat(warnings(mutation)).anyMatch(w -> w.contains("becomes 1 again"));
  }

  /** A namespace or a pod that opts out has its numbers as they are. */
  @Test
  void wholeGpu_whereThePodOptsOut_isTheOwnersNumberAgain() {
    JsonNode stored = admitted(PlainRequests.GPUS, plain(1), LARGE);
    ObjectNode pod = stored.deepCopy();
    pod.withObject("/metadata/annotations").put("tranche.dev/plain-requests", "unchanged");
    for (PodMutator mutator :
        List.of(mutator(PlainRequests.GPUS), mutator(PlainRequests.UNCHANGED))) {
      JsonNode restored = apply(mutator.mutate(pod, cluster(LARGE)), pod);
      assertThat(replicas(restored)).isEqualTo("1");
      assertThat(annotation(restored, "replicas-per-gpu")).isEmpty();
      assertThat(new NodeSelection(restored.path("spec")).admits(LARGE)).isFalse();
      assertThat(mutator.mutate(restored, cluster(LARGE))).matches(Reviews::changesNothing);
    }
  }

  /** As an injector of checks does between two calls of the webhook. */
  @Test
  void copyOfAContainerWithAWholeGpu_isTakenBackLikeIt() {
    ObjectNode stored = (ObjectNode) admitted(PlainRequests.GPUS, plain(1), LARGE);
    ObjectNode check = stored.at("/spec/containers/0").deepCopy();
    ((com.fasterxml.jackson.databind.node.ArrayNode) stored.at("/spec/containers"))
        .add(check.put("name", "check"));
    JsonNode restored = admitted(PlainRequests.REPLICAS, stored, FOUR);
    assertThat(restored.findValuesAsText(GPU)).containsOnly("1");
    JsonNode again = admitted(PlainRequests.GPUS, stored, FOUR);
    assertThat(again.findValuesAsText(GPU)).containsOnly("4");
  }

  /** The share of another container keeps what says how it was sized. */
  @Test
  void shareBesideAWholeGpu_isSizedAnew() {
    ObjectNode pod = plain(1);
    pod.withObject("/metadata/annotations").put("tranche.dev/gpu-fraction.side", "0.3");
    pod.withArray("/spec/containers").addObject().put("name", "side");
    JsonNode stored = admitted(PlainRequests.GPUS, pod, LARGE);
    PodMutator replicas = mutator(PlainRequests.REPLICAS);
    JsonNode restored = apply(replicas.mutate(stored, cluster(FOUR)), stored);
    assertThat(replicas(restored)).isEqualTo("1");
    assertThat(restored.at("/spec/containers/1/resources/limits").path(GPU).asText())
        .isEqualTo("2");
    assertThat(replicas.mutate(restored, cluster(FOUR))).matches(Reviews::changesNothing);
  }

  /** Whoever writes our annotations by hand has a number that they do not explain. */
  @Test
  void numberThatTheAnnotationsDoNotExplain_stays() {
    ObjectNode pod = plain(7);
    pod.withObject("/metadata/annotations")
        .put("tranche.dev/gpus-requested", "main=1")
        .put("tranche.dev/replicas-per-gpu", "10");
    JsonNode after = admitted(PlainRequests.REPLICAS, pod, FOUR);
    assertThat(replicas(after)).isEqualTo("7");
  }

  /** Webhooks are called twice: the first call's result is no restored pod. */
  @Test
  void ownersRequirementOfMemory_thatNoNodeMeetsYet_isKept() {
    var assumed =
        new PodMutator(
            rules(
                PlainRequests.GPUS,
                new MutationRules.Memory(0, 81920L << 20, Reviews.MEMORY.limits())));
    ObjectNode pod =
        requiring(annotated("gpu-memory", "4Gi"), "nvidia.com/gpu.memory", "In", "81920");
    JsonNode once = apply(assumed.mutate(pod, cluster(SMALL)), pod);
    JsonNode twice = apply(assumed.mutate(once, cluster(SMALL)), once);
    assertThat(twice.at(TERMS)).isEqualTo(pod.at(TERMS));
  }

  /** Else a tenant could have us remove what an administrator's webhook requires. */
  @Test
  void requirementOfOthers_isKept_whateverTheAnnotationSays() {
    ObjectNode pod = requiring(annotated("gpu-fraction", "0.3"), "team", "In", "a");
    pod.withObject("/metadata/annotations")
        .put(
            "tranche.dev/webhook-added",
            "{\"requirements\":%s}".formatted(pod.at(TERMS + "/0/matchExpressions").toString()));
    JsonNode after = admitted(PlainRequests.GPUS, pod, SMALL);
    assertThat(after.at(TERMS).toString()).contains("team");
  }

  @Test
  void ownersRequirement_thatLooksLikeOurs_isKept() {
    ObjectNode pod =
        requiring(annotated("gpu-memory", "4Gi"), "nvidia.com/gpu.memory", "In", "23028");
    var mutator = mutator(PlainRequests.GPUS);
    JsonNode stored = apply(mutator.mutate(pod, cluster(LARGE)), pod);
    assertThat(mutator.mutate(stored, cluster(SMALL))).isInstanceOf(Mutation.Denied.class);
  }

  /** Without the annotation nobody knows who wrote a requirement, so it is the owner's. */
  @Test
  void requirementInABackupWithoutTheMark_isTheOwners_andTheDenialNamesTheCause() {
    ObjectNode pod = annotated("gpu-memory", "4Gi");
    var mutator = mutator(PlainRequests.GPUS);
    ObjectNode stored = (ObjectNode) apply(mutator.mutate(pod, cluster(LARGE)), pod);
    ((ObjectNode) stored.at("/metadata/annotations")).remove("tranche.dev/webhook-added");
    assertThat(denial(mutator.mutate(stored, cluster(SMALL))))
        .contains("this pod's own nodeSelector and node affinity");
    assertThat(apply(mutator.mutate(stored, cluster(LARGE)), stored).path("spec"))
        .isEqualTo(stored.path("spec"));
  }

  @Test
  void wholeGpuOfADraDriver_whereOnlyPluginsServe_isOneOfAPlugin() {
    var mutator = mutator(PlainRequests.GPUS);
    JsonNode stored = apply(mutator.mutate(plain(1), cluster(DRA)), plain(1));
    JsonNode restored = apply(mutator.mutate(stored, cluster(LARGE)), stored);
    assertThat(replicas(restored)).isEqualTo("10");
    assertThat(new NodeSelection(restored.path("spec")).admits(LARGE)).isTrue();
  }

  @Test
  void schedulerOfTranche_whereTheClustersOwnServes_isTakenBack() {
    ObjectNode pod = plain(1);
    JsonNode stored = admitted(PlainRequests.GPUS, pod, LARGE);
    var service = new PodMutator(Reviews.rules(List.of(GPU), 10, "", ""));
    JsonNode restored = apply(service.mutate(stored, cluster(LARGE)), stored);
    assertThat(restored.at("/spec/schedulerName").asText("")).isNotEqualTo("tranche-scheduler");
  }

  private static ObjectNode gated(ObjectNode pod) {
    pod.withObject("/spec").putArray("schedulingGates").addObject().put("name", "queue");
    return pod;
  }

  private static JsonNode admitted(PlainRequests plain, JsonNode pod, GpuNode node) {
    return apply(mutator(plain).mutate(pod, cluster(node)), pod);
  }

  private static PodMutator mutator(PlainRequests plain) {
    return new PodMutator(rules(plain, Reviews.MEMORY));
  }

  private static MutationRules rules(PlainRequests plain, MutationRules.Memory memory) {
    return Reviews.rules(List.of(GPU), 5, "tranche-scheduler", "nvidia", memory)
        .with(plain, Set.of());
  }

  private static GpuNode node(String name, String replicas, String label, String value) {
    return Reviews.node(
        name,
        "tranche.dev/replicas-per-gpu",
        replicas,
        "nvidia.com/gpu.count",
        "8",
        "zone",
        "a",
        label,
        value);
  }
}
