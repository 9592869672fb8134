package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.Reviews.annotated;
import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.cluster;
import static dev.tranche.webhook.Reviews.pod;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.GrantedGpus;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Mutation;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PodMutatorTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String LABEL = "tranche.dev/replicas-per-gpu";
  private static final String EXPRESSIONS = Reviews.TERMS + "/0/matchExpressions";
  private static final MutationRules RULES =
      Reviews.rules(List.of(GPU, "nvidia.com/gpu.shared"), 10, "tranche-scheduler", "nvidia");
  private static final MutationRules.Cluster EMPTY = Reviews.cluster();

  private final PodMutator mutator = new PodMutator(RULES);

  @Test
  void deploymentPod_getsReplicasStampSchedulerAndRuntimeClass_andKeepsTheRest() {
    ObjectNode before = pod("deployment");
    JsonNode after = apply(mutator.mutate(before, EMPTY), before);

    ObjectNode expected = before.deepCopy();
    expected.withObject("/spec/containers/0/resources/limits").put(GPU, "3");
    expected.withObject("/spec/containers/0/resources/requests").put(GPU, "3");
    expected
        .withObject("/metadata/annotations")
        .put("tranche.dev/gpu-container", expected.at("/spec/containers/0/name").asText())
        .put("tranche.dev/replicas-per-gpu", "10")
        .put("tranche.dev/webhook-added", "{\"schedulerName\":\"tranche-scheduler\"}");
    expected
        .withObject("/spec")
        .put("schedulerName", "tranche-scheduler")
        .put("runtimeClassName", "nvidia");
    assertThat(after).isEqualTo(expected);
    assertThat(before).isEqualTo(pod("deployment"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "default-scheduler | 55 | 1M | at least 550055 of nvidia.com/gpu",
        "other-scheduler | 55 | 1M | at least 550055 of nvidia.com/gpu",
        "default-scheduler | 2 | 5001 | at least 10002 of nvidia.com/gpu",
        "default-scheduler | 1 | 9223372036854775807 | at least 10001 of nvidia.com/gpu",
        "default-scheduler | 513 | 1 | 513 containers that request GPUs",
        "default-scheduler | 1 | 1025 | 1025 GPUs in container",
        "default-scheduler | 1 | 1001 | at least 10010 replicas of 1/10 GPU"
      })
  void aNumberThatNoNodeHas_isDenied(
      String scheduler, int containers, String requested, String said) {
    ObjectNode pod = annotated();
    ObjectNode spec = (ObjectNode) pod.path("spec");
    spec.put("schedulerName", scheduler).put("nodeName", "");
    ArrayNode list = spec.putArray("containers");
    for (int i = 0; i < containers; i++) {
      ObjectNode container = list.addObject().put("name", "c" + i);
      container.putObject("resources").putObject("limits").put(GPU, requested);
    }
    var gpus = new PodMutator(RULES.with(MutationRules.PlainRequests.GPUS, Set.of()));
    assertThat(gpus.mutate(pod, EMPTY))
        .isInstanceOfSatisfying(
            Mutation.Denied.class, denied -> assertThat(denied.message()).contains(said));
  }

  @Test
  void jobPodWithCount_getsTheShareOnEachGpu_roundedUpWithAWarning() {
    Mutation mutation = mutator.mutate(pod("job"), EMPTY);
    JsonNode after = apply(mutation, pod("job"));
    assertThat(after.at("/spec/containers/0/resources/limits").path(GPU).asText()).isEqualTo("8");
    assertThat(annotation(after, "granted-fraction")).isEqualTo("0.4");
    assertThat(warnings(mutation))
        .containsExactly(
            "container worker: 1/3 rounded up to 0.4, because GPUs are split into 10 replicas;"
                + " with 60 replicas it is exact");
  }

  @Test
  void initContainerAndSidecar_areAddressedByName() {
    JsonNode after = apply(mutator.mutate(pod("sidecar-and-init"), EMPTY), pod("sidecar-and-init"));
    assertThat(after.at("/spec/initContainers/0/resources/limits").path(GPU).asText())
        .isEqualTo("2");
    assertThat(after.at("/spec/initContainers/1/resources/limits").path(GPU).asText())
        .isEqualTo("5");
    assertThat(after.at("/spec/containers/0/resources").isEmpty()).isTrue();
    assertThat(after.at("/spec/containers/1/resources/limits").path(GPU).asText()).isEqualTo("4");
  }

  @Test
  void plainGpuPod_keepsItsRequest_andGoesToOurScheduler() {
    ObjectNode before = pod("plain-gpu");
    ObjectNode expected = before.deepCopy();
    expected
        .withObject("/metadata/annotations")
        .put("tranche.dev/webhook-added", "{\"schedulerName\":\"tranche-scheduler\"}");
    expected
        .withObject("/spec")
        .put("schedulerName", "tranche-scheduler")
        .put("runtimeClassName", "nvidia");
    assertThat(apply(mutator.mutate(before, EMPTY), before)).isEqualTo(expected);
  }

  @Test
  void foreignSchedulerName_losesOurStampsAlone() {
    ObjectNode foreign = Reviews.annotated("gpu", "GPU-1", "gpu-fraction", "0.5");
    foreign.withObject("/spec").put("schedulerName", "kai-scheduler");
    ObjectNode without = foreign.deepCopy();
    ((ObjectNode) without.at("/metadata/annotations")).remove("tranche.dev/gpu");
    assertThat(Reviews.apply(mutator.mutate(foreign, EMPTY), foreign)).isEqualTo(without);
  }

  @Test
  void podWithoutGpu_isUnchanged() {
    assertThat(mutator.mutate(annotated(), EMPTY)).isEqualTo(Mutation.UNCHANGED);
  }

  @Test
  void emptySchedulerName_leavesTheDefault() {
    var rules = Reviews.rules(List.of(GPU), 10, "", "");
    JsonNode after =
        apply(new PodMutator(rules).mutate(pod("deployment"), EMPTY), pod("deployment"));
    assertThat(after.at("/spec/schedulerName").asText()).isEqualTo("default-scheduler");
    assertThat(after.at("/spec").has("runtimeClassName")).isFalse();
  }

  @Test
  void runtimeClassOfTheUser_isKept_andNoneIsSetWhereNoneExists() {
    ObjectNode own = pod("deployment");
    own.withObject("/spec").put("runtimeClassName", "gvisor");
    assertThat(apply(mutator.mutate(own, EMPTY), own).at("/spec/runtimeClassName").asText())
        .isEqualTo("gvisor");
    var without =
        new MutationRules.Cluster(List.of(), List.of(), false, node -> Optional.empty(), "");
    assertThat(
            apply(mutator.mutate(pod("deployment"), without), pod("deployment"))
                .path("spec")
                .has("runtimeClassName"))
        .isFalse();
  }

  @Test
  void stampsOfTheUser_areStripped() {
    ObjectNode plain = pod("plain-gpu");
    plain
        .withObject("/metadata/annotations")
        .put("tranche.dev/gpu", "GPU-1")
        .put("tranche.dev/replicas-per-gpu", "1")
        .put("mine", "stays");
    JsonNode after = apply(mutator.mutate(plain, EMPTY), plain);
    assertThat(after.at("/metadata/annotations").propertyStream().map(Map.Entry::getKey))
        .containsExactly("mine", "tranche.dev/webhook-added");

    ObjectNode asking =
        annotated("gpu-fraction", "0.5", "replicas-per-gpu", "1", "granted-fraction", "1");
    JsonNode stamped = apply(mutator.mutate(asking, EMPTY), asking);
    assertThat(annotation(stamped, "replicas-per-gpu")).isEqualTo("10");
    assertThat(stamped.at("/metadata/annotations").has("tranche.dev/granted-fraction")).isFalse();
  }

  /** Anybody who may label nodes may write anything there. */
  @ParameterizedTest
  @ValueSource(strings = {"0", "-1", "ten", "10001", "999999999", "99999999999999999999"})
  void replicasPerGpu_thatNoNodeCanHave_areNotBelieved(String label) {
    ObjectNode asking = annotated("gpu-fraction", "1000");
    var node = Reviews.node("a", "tranche.dev/replicas-per-gpu", label);
    assertThat(replicas(apply(mutator.mutate(asking, cluster(node)), asking))).isEqualTo("10000");
  }

  @Test
  void replicasPerGpu_areThoseOfTheNodesThatAdmitThePod() {
    ObjectNode asking = annotated("gpu-fraction", "0.5");
    asking.withObject("/spec").putObject("nodeSelector").put("zone", "b");
    var a = Reviews.node("a", "tranche.dev/replicas-per-gpu", "10", "zone", "a");
    var b = Reviews.node("b", "tranche.dev/replicas-per-gpu", "4", "zone", "b");
    JsonNode after = apply(mutator.mutate(asking, cluster(a, b)), asking);
    assertThat(replicas(after)).isEqualTo("2");
    assertThat(annotation(after, "replicas-per-gpu")).isEqualTo("4");
    assertThat(after.path("spec").has("affinity")).isFalse();
  }

  @Test
  void nodesThatDisagree_pinThePodToTheDefaultsCut() {
    ObjectNode asking = annotated("gpu-fraction", "0.5");
    Mutation mutation = mutator.mutate(asking, cluster(node("a", 10, 1), node("b", 4, 1)));
    JsonNode after = apply(mutation, asking);
    assertThat(replicas(after)).isEqualTo("5");
    assertThat(Reviews.expressions(after))
        .containsExactly(
            "{\"key\":\"tranche.dev/replicas-per-gpu\",\"operator\":\"In\",\"values\":[\"10\"]}");
    assertThat(warnings(mutation)).singleElement().asString().contains("4 or 10 replicas");
  }

  @Test
  void nodesThatDisagree_areChosenByTheirRoom_forWholeGpusToo() {
    String full = "2.0 of 2 GPUs granted, largest free share 0/20, 0 replicas free, as of ";
    String free = "0.0 of 2 GPUs granted, largest free share 40/40, 80 replicas free, as of ";
    for (int i = 0; i < 20; i++) {
      var cluster =
          new MutationRules.Cluster(
              List.of(Reviews.node("full", LABEL, "20"), Reviews.node("free", LABEL, "40")),
              List.of(),
              true,
              node ->
                  GrantedGpus.read((node.name().equals("full") ? full : free) + Instant.EPOCH)
                      .map(GrantedGpus.Written::granted),
              "review-" + i);
      ObjectNode two = annotated("gpu-fraction", "2");
      assertThat(annotation(apply(mutator.mutate(two, cluster), two), "replicas-per-gpu"))
          .isEqualTo("40");
    }
  }

  @Test
  void nodesThatDisagree_narrowEachOfTheUsersTerms() {
    ObjectNode asking = annotated("gpu-fraction", "0.5");
    ((ObjectNode) asking.path("spec"))
        .set(
            "affinity",
            Reviews.json(
                """
                {"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
                  {"matchFields":[{"key":"metadata.name","operator":"In","values":["a","b","d"]}]},
                  {}]}}}
                """));
    JsonNode terms =
        apply(
                mutator.mutate(
                    asking,
                    cluster(node("a", 3, 1), node("b", 4, 1), node("c", 4, 1), node("d", 3, 1))),
                asking)
            .at(Reviews.TERMS);
    assertThat(terms.at("/0/matchExpressions/0/values/0").asText()).isEqualTo("3");
    assertThat(terms.at("/0/matchFields/0/key").asText()).isEqualTo("metadata.name");
    assertThat(terms.path(1).isEmpty()).isTrue();
  }

  /** They are alternatives, so two that are alike admit the same nodes as one. */
  @Test
  void termsThatBecomeAlike_admitTheSameNodes_andStay() {
    ObjectNode pod = Reviews.requiring(annotated("gpu-fraction", "0.5"), "zone", "In", "a");
    Reviews.requiring(pod, "zone", "In", "a");
    pod.withArray(Reviews.TERMS + "/1/matchExpressions")
        .addAll(Reviews.requiring(annotated(), LABEL, "In", "10").withArray(EXPRESSIONS));
    var cluster =
        cluster(
            Reviews.node("a", LABEL, "10", "zone", "a"),
            Reviews.node("b", LABEL, "4", "zone", "a"));
    JsonNode once = apply(mutator.mutate(pod, cluster), pod);
    assertThat(once.at(Reviews.TERMS + "/0")).isEqualTo(once.at(Reviews.TERMS + "/1"));
    assertThat(cluster.nodes().stream().filter(new NodeSelection(once.path("spec"))::admits))
        .extracting(GpuNode::name)
        .containsExactly("a");
    assertThat(mutator.mutate(once, cluster)).matches(Reviews::changesNothing);
  }

  /** Restored by Velero, or copied by kubectl debug --copy-to. */
  @ParameterizedTest
  @ValueSource(strings = {"deployment", "job", "sidecar-and-init"})
  void ownResult_afterRHasChanged_isCutAnew(String name) {
    var before = cluster(node("a", 10, 8));
    var now = cluster(node("a", 4, 8));
    JsonNode restored = apply(mutator.mutate(pod(name), before), pod(name));
    JsonNode fresh = apply(mutator.mutate(pod(name), now), pod(name));
    assertThat(apply(mutator.mutate(restored, now), restored)).isEqualTo(fresh);
  }

  /** Where nodes differed, the pod was kept on those of the former number. */
  @Test
  void ownResult_pinnedToAnRThatHasGone_isFreed() {
    var before = cluster(node("a", 10, 8), node("b", 10, 8), node("c", 5, 8));
    var now = cluster(node("a", 4, 8), node("b", 4, 8), node("c", 4, 8));
    var changed = new PodMutator(Reviews.rules(List.of(GPU), 4, "tranche-scheduler", "nvidia"));
    JsonNode restored = apply(mutator.mutate(pod("deployment"), before), pod("deployment"));
    assertThat(restored.path("spec").path("affinity").toString())
        .contains("tranche.dev/replicas-per-gpu");
    JsonNode again = apply(changed.mutate(restored, now), restored);
    assertThat(again.path("spec").path("affinity").toString())
        .doesNotContain("tranche.dev/replicas-per-gpu");
    JsonNode fresh = apply(mutator.mutate(pod("deployment"), now), pod("deployment"));
    assertThat(again.path("spec").path("containers"))
        .isEqualTo(fresh.path("spec").path("containers"));
    // While there is such a node, the requirement holds.
    var some = cluster(node("a", 10, 8), node("b", 4, 8), node("c", 4, 8));
    JsonNode kept = apply(changed.mutate(restored, some), restored);
    assertThat(kept.path("spec").path("affinity"))
        .isEqualTo(restored.path("spec").path("affinity"));
    JsonNode none = apply(mutator.mutate(restored, EMPTY), restored);
    assertThat(none.path("spec").path("affinity"))
        .as("no node is known")
        .isEqualTo(restored.path("spec").path("affinity"));
  }

  @Test
  void hostPid_withAPlainRequest_isKeptOffNodesThatShareGpusByMps() {
    ObjectNode plain = pod("plain-gpu");
    plain.withObject("/spec").put("hostPID", true);
    JsonNode after = apply(mutator.mutate(plain, cluster(node("a", 10, 1))), plain);
    assertThat(Reviews.expressions(after)).anyMatch(e -> e.contains("sharing-strategy"));
  }

  @Test
  void migDevices_areNoGpusOfAnotherModel() {
    var labels =
        Map.of(
            "tranche.dev/replicas-per-gpu", "10",
            "nvidia.com/gpu.count", "1",
            "nvidia.com/gpu.product", "A100");
    var partitioned =
        new GpuNode("a", labels, Map.of(GPU, 10L, "nvidia.com/mig-1g.5gb", 7L), Taints.NONE);
    assertThat(partitioned.mixed()).isFalse();
    assertThat(warnings(mutator.mutate(annotated("gpu-fraction", "2"), cluster(partitioned))))
        .anyMatch(w -> w.contains("more than 1"));
  }

  /** Four replicas of one GPU now, and ten while containers hold what they were given before. */
  @Test
  void replicasOfAnEarlierConfig_areNoGpusOfAnotherModel() {
    var labels =
        Map.of(
            "tranche.dev/replicas-per-gpu", "4",
            "nvidia.com/gpu.count", "1",
            "nvidia.com/gpu.product", "A100",
            "tranche.dev/gpus", "1");
    var changed = new GpuNode("a", labels, Map.of(GPU, 10L), Taints.NONE);
    assertThat(changed.mixed()).isFalse();
    assertThat(warnings(mutator.mutate(annotated("gpu-fraction", "2"), cluster(changed))))
        .anyMatch(w -> w.contains("more than 1"));
    var two = new HashMap<>(labels);
    two.put("tranche.dev/gpus", "2");
    var mixed = new GpuNode("a", two, Map.of(GPU, 8L), Taints.NONE);
    assertThat(mixed.product()).isEmpty();
    assertThat(mixed.gpus()).hasValue(2);
  }

  @Test
  void moreGpus_thanAnyNodeHas_areWarnedOf_whereEveryNodeSaysItsCount() {
    ObjectNode asking = annotated("gpu-fraction", "4");
    assertThat(warnings(mutator.mutate(asking, cluster(node("a", 10, 2), node("b", 10, 1)))))
        .anyMatch(w -> w.contains("requests 4 GPUs") && w.contains("more than 2"));
    var silent = Reviews.node("c", "tranche.dev/replicas-per-gpu", "10");
    assertThat(replicas(apply(mutator.mutate(asking, cluster(node("a", 10, 2), silent)), asking)))
        .isEqualTo("40");
  }

  @Test
  void nodesWithEnoughGpus_ofAnotherCut_areFound_andThePodIsKeptThere() {
    ObjectNode asking = annotated("gpu-fraction", "4");
    Mutation mutation = mutator.mutate(asking, cluster(node("a", 10, 2), node("b", 4, 8)));
    JsonNode after = apply(mutation, asking);
    assertThat(replicas(after)).isEqualTo("16");
    assertThat(Reviews.expressions(after)).singleElement().asString().contains("[\"4\"]");
    assertThat(warnings(mutation)).isEmpty();
  }

  @Test
  void daemonSetPod_isCutAsItsOwnNode() {
    ObjectNode asking = annotated("gpu-fraction", "0.5");
    ((ObjectNode) asking.path("spec"))
        .set(
            "affinity",
            Reviews.json(
                """
                {"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
                  {"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]}]}}}
                """));
    Mutation mutation = mutator.mutate(asking, cluster(node("a", 10, 1), node("b", 4, 1)));
    assertThat(replicas(apply(mutation, asking))).isEqualTo("2");
    assertThat(warnings(mutation)).isEmpty();
  }

  @Test
  void models_keepThePodOffNodesOfOthers_alsoAPlainOne() {
    var t4 =
        Reviews.node("a", "tranche.dev/replicas-per-gpu", "10", "nvidia.com/gpu.product", "T4");
    ObjectNode asking = annotated("gpu-model", "!T4");
    asking
        .withObject("/spec/containers/0")
        .putObject("resources")
        .putObject("limits")
        .put(GPU, "1");
    JsonNode after = apply(mutator.mutate(asking, cluster(t4)), asking);
    assertThat(Reviews.expressions(after))
        .containsExactly(
            "{\"key\":\"nvidia.com/gpu.product\",\"operator\":\"NotIn\",\"values\":[\"T4\"]}");
    assertThat(replicas(after)).isEqualTo("1");
    assertThat(mutator.mutate(after, cluster(t4))).matches(Reviews::changesNothing);
  }

  @ParameterizedTest
  @CsvSource({
    "transformer, false, true",
    "explainer, false, true",
    "predictor, false, false",
    "transformer, true, false"
  })
  void shareOfATransformer_isWarnedOf_unlessItAsksForAGpuItself(
      String component, boolean number, boolean warned) {
    ObjectNode pod = number ? Reviews.plain(1) : annotated();
    annotated("gpu-fraction", "0.5")
        .at("/metadata/annotations")
        .forEachEntry(pod.withObject("/metadata/annotations")::set);
    pod.withObject("/metadata/labels")
        .put("serving.kserve.io/inferenceservice", "llm")
        .put("component", component);
    var gpus = new PodMutator(RULES.with(MutationRules.PlainRequests.GPUS, Set.of()));
    assertThat(warnings(gpus.mutate(pod, EMPTY)).stream().anyMatch(w -> w.contains("KServe")))
        .isEqualTo(warned);
  }

  @Test
  void nodeOfSeveralModels_isNotRequiredAway_andHasAllItsGpus() {
    var labels =
        Map.of(
            "tranche.dev/replicas-per-gpu", "10",
            "nvidia.com/gpu.count", "1",
            "nvidia.com/gpu.product", "T4");
    var ofAll = new HashMap<>(labels);
    ofAll.put("tranche.dev/gpus", "3");
    var mixed = new GpuNode("a", ofAll, Map.of(GPU, 30L), Taints.NONE);
    var plain = new GpuNode("b", labels, Map.of(GPU, 10L), Taints.NONE);
    ObjectNode asking = annotated("gpu-fraction", "3", "gpu-model", "A100");
    Mutation mutation = mutator.mutate(asking, cluster(mixed, plain));
    assertThat(warnings(mutation)).isEmpty();
    assertThat(Reviews.expressions(apply(mutation, asking))).isEmpty();
  }

  private static GpuNode node(String name, int replicas, int gpus) {
    return Reviews.node(
        name, "tranche.dev/replicas-per-gpu", "" + replicas, "nvidia.com/gpu.count", "" + gpus);
  }
}
