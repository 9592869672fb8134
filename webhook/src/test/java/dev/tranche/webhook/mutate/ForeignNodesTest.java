package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.cluster;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.expressions;
import static dev.tranche.webhook.Reviews.plain;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.selecting;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Taint;
import dev.tranche.webhook.PlainRequestsTest;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Mutation;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Nodes that offer the resource without Tranche: virtual kubelets, NVIDIA's plugin, DRA drivers.
 */
class ForeignNodesTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String LABEL = "tranche.dev/replicas-per-gpu";
  private static final String SERVED_BY = "tranche.dev/gpus-served-by";
  private static final String OPT_OUT = "tranche.dev/plain-requests";
  private static final String KEPT_OFF =
      "{\"key\":\"" + LABEL + "\",\"operator\":\"DoesNotExist\"}";

  private static final GpuNode OURS = node("ours", 20, Taints.NONE, LABEL, "10", "pool", "shared");
  private static final GpuNode TAINTED =
      node("tainted", 20, taints(GPU, "present"), LABEL, "10", "pool", "shared");
  private static final GpuNode VIRTUAL =
      node(
          "aci-1",
          1,
          taints("virtual-kubelet.io/provider", "azure"),
          "type",
          "virtual-kubelet",
          "kubernetes.io/os",
          "linux");

  /** As NVIDIA's plugin and GPU Feature Discovery leave it, with time-slicing. */
  private static final GpuNode NVIDIAS =
      node(
          "nvidias",
          4,
          Taints.NONE,
          "nvidia.com/gpu.replicas",
          "4",
          "nvidia.com/gpu.count",
          "1",
          "nvidia.com/gpu.family",
          "turing",
          "pool",
          "whole");

  /** As GPU Feature Discovery and an earlier plugin have labelled it. */
  private static final GpuNode DRA =
      node("dra", 0, Taints.NONE, SERVED_BY, "dra", LABEL, "10", "pool", "whole");

  private static GpuNode node(String name, long allocatable, Taints taints, String... labels) {
    return new GpuNode(name, Reviews.node(name, labels).labels(), Map.of(GPU, allocatable), taints);
  }

  private static Taints taints(String key, String value) {
    return new Taints(List.of(new Taint(key, value, "NoSchedule")));
  }

  private static PodMutator mutator(PlainRequests plain) {
    return new PodMutator(PlainRequestsTest.rules(plain));
  }

  private static Mutation mutate(JsonNode pod, GpuNode... nodes) {
    return mutator(PlainRequests.GPUS).mutate(pod, cluster(nodes));
  }

  private static ObjectNode tolerating(ObjectNode pod, String key) {
    pod.withObject("/spec")
        .putArray("tolerations")
        .addObject()
        .put("key", key)
        .put("operator", "Exists");
    return pod;
  }

  /** As Azure and Liqo document their pods. */
  private static ObjectNode forVirtualKubelet() {
    return tolerating(
        selecting(plain(1), "type", "virtual-kubelet"), "virtual-kubelet.io/provider");
  }

  private static ObjectNode annotated(ObjectNode pod, String key, String value) {
    pod.withObject("/metadata/annotations").put(key, value);
    return pod;
  }

  private static ObjectNode withScheduler(ObjectNode pod, String scheduler) {
    pod.withObject("/spec").put("schedulerName", scheduler);
    return pod;
  }

  @ParameterizedTest
  @EnumSource(names = {"GPUS", "REPLICAS"})
  void podThatOnlyAForeignNodeAdmits_keepsItsSpec(PlainRequests plain) {
    ObjectNode pod = forVirtualKubelet();
    Mutation mutation = mutator(plain).mutate(pod, cluster(OURS, VIRTUAL));
    JsonNode after = apply(mutation, pod);
    assertThat(after.path("spec")).isEqualTo(pod.path("spec"));
    assertThat(annotation(after, "gpus-served-by")).isEqualTo("other");
    assertThat(warnings(mutation)).isEmpty();
    assertThat(mutator(plain).mutate(after, cluster(OURS, VIRTUAL)))
        .matches(Reviews::changesNothing);
  }

  @ParameterizedTest
  @ValueSource(strings = {"default-scheduler", "liqo-like-scheduler"})
  void podOfAnyScheduler_keepsItsSpec(String scheduler) {
    ObjectNode pod = withScheduler(forVirtualKubelet(), scheduler);
    assertThat(apply(mutate(pod, OURS, VIRTUAL), pod).path("spec")).isEqualTo(pod.path("spec"));
  }

  @Test
  void nodeOfNvidiasPlugin_isForeign_alsoWithTheLabelsOfDiscovery() {
    ObjectNode pod = selecting(plain(2), "pool", "whole");
    assertThat(replicas(apply(mutate(pod, OURS, NVIDIAS), pod))).isEqualTo("2");
  }

  /** What it says of its replicas concerns another plugin. */
  @Test
  void foreignNode_sizesNoShare() {
    ObjectNode half = Reviews.annotated("gpu-fraction", "0.5");
    Mutation mutation = mutate(half, NVIDIAS, OURS);
    assertThat(replicas(apply(mutation, half))).isEqualTo("5");
    assertThat(warnings(mutation)).isEmpty();
  }

  @Test
  void share_staysTranches_whereverItsSelectorsLead() {
    ObjectNode half = selecting(Reviews.annotated("gpu-fraction", "0.5"), "pool", "whole");
    JsonNode after = apply(mutate(half, OURS, NVIDIAS), half);
    assertThat(replicas(after)).isEqualTo("5");
    assertThat(annotation(after, "gpus-served-by")).isEmpty();
  }

  @Test
  void podThatBothAdmit_isConvertedForOurs_withAWarningThatNamesTheOptOut() {
    Mutation mutation = mutate(plain(1), OURS, NVIDIAS);
    JsonNode after = apply(mutation, plain(1));
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(expressions(after)).singleElement().asString().contains(LABEL, "In", "10");
    assertThat(warnings(mutation)).anyMatch(w -> w.contains(OPT_OUT + ": \"unchanged\""));
    assertThat(mutate(after, OURS, NVIDIAS)).matches(Reviews::changesNothing);
  }

  @Test
  void podThatNeitherAdmits_isConverted_sinceAnAutoscalerMayAddANode() {
    ObjectNode pod = selecting(plain(1), "pool", "not-yet");
    Mutation mutation = mutate(pod, OURS, VIRTUAL);
    assertThat(replicas(apply(mutation, pod))).isEqualTo("10");
    assertThat(warnings(mutation)).noneMatch(w -> w.contains(OPT_OUT));
    assertThat(replicas(apply(mutate(plain(1)), plain(1)))).isEqualTo("10");
  }

  @Test
  void taintOfTheForeignNode_keepsItFromDeciding() {
    Mutation mutation = mutate(plain(1), OURS, VIRTUAL);
    assertThat(replicas(apply(mutation, plain(1)))).isEqualTo("10");
    assertThat(warnings(mutation)).noneMatch(w -> w.contains(OPT_OUT));
  }

  /** A toleration can be added later, when the number would count replicas there. */
  @Test
  void podThatOnlyTaintsKeepOffOurs_staysAsItIs_andIsKeptOffForGood() {
    Mutation mutation = mutate(plain(1), TAINTED, NVIDIAS);
    JsonNode after = apply(mutation, plain(1));
    assertThat(replicas(after)).isEqualTo("1");
    assertThat(after.path("spec").has("schedulerName")).isFalse();
    assertThat(expressions(after)).containsExactly(KEPT_OFF);
    assertThat(mutate(after, TAINTED, NVIDIAS)).matches(Reviews::changesNothing);
    ObjectNode tolerant = tolerating(plain(1), GPU);
    assertThat(replicas(apply(mutate(tolerant, TAINTED, NVIDIAS), tolerant))).isEqualTo("10");
  }

  @Test
  void nodeWithoutTheResource_isNoPlaceToRun() {
    GpuNode none = node("cpu", 0, Taints.NONE, "pool", "whole");
    ObjectNode pod = selecting(plain(1), "pool", "whole");
    assertThat(replicas(apply(mutate(pod, OURS, none), pod))).isEqualTo("10");
  }

  /** It holds whatever nodes there are, so no later node of ours gives it an uncounted GPU. */
  @Test
  void annotation_optsOut_andKeepsThePodOffOurs() {
    ObjectNode pod = annotated(plain(1), OPT_OUT, "unchanged");
    for (GpuNode[] nodes : List.of(new GpuNode[] {OURS, NVIDIAS}, new GpuNode[] {OURS})) {
      Mutation mutation = mutate(pod, nodes);
      JsonNode after = apply(mutation, pod);
      assertThat(replicas(after)).isEqualTo("1");
      assertThat(after.path("spec").has("schedulerName")).isFalse();
      assertThat(after.path("spec").has("runtimeClassName")).isFalse();
      assertThat(expressions(after)).containsExactly(KEPT_OFF);
      assertThat(annotation(after, "gpus-served-by")).isEqualTo("other");
      assertThat(warnings(mutation)).isEmpty();
      assertThat(mutate(after, nodes)).matches(Reviews::changesNothing);
      assertThat(replicas(apply(mutate(after), after))).as("restored").isEqualTo("1");
    }
    ObjectNode other = withScheduler(annotated(plain(1), OPT_OUT, "unchanged"), "hub");
    assertThat(expressions(apply(mutate(other, OURS), other))).containsExactly(KEPT_OFF);
  }

  @Test
  void namespace_optsOutAlike() {
    JsonNode after =
        apply(mutator(PlainRequests.UNCHANGED).mutate(plain(1), cluster(OURS, NVIDIAS)), plain(1));
    assertThat(replicas(after)).isEqualTo("1");
    assertThat(expressions(after)).containsExactly(KEPT_OFF);
    ObjectNode half = Reviews.annotated("gpu-fraction", "0.5");
    JsonNode share = apply(mutator(PlainRequests.UNCHANGED).mutate(half, cluster(OURS)), half);
    assertThat(replicas(share)).as("a share is not concerned").isEqualTo("5");
  }

  /** Otherwise it would run on our node by a number that counts replicas there. */
  @Test
  void nodeNameOfOurs_isStrongerThanTheOptOut() {
    ObjectNode pod = annotated(plain(1), OPT_OUT, "unchanged");
    pod.withObject("/spec").put("nodeName", "ours");
    JsonNode after = apply(mutate(pod, OURS, NVIDIAS), pod);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(annotation(after, "gpus-served-by")).isEmpty();
    pod.withObject("/spec").put("nodeName", "nvidias");
    assertThat(replicas(apply(mutate(pod, OURS, NVIDIAS), pod))).isEqualTo("1");
  }

  @Test
  void requirement_isWrittenBackWhenTheManifestIsAppliedAgain() {
    ObjectNode pod = annotated(plain(1), OPT_OUT, "unchanged");
    Reviews.requiring(pod, "pool", "Exists");
    JsonNode before = apply(mutate(pod, OURS, NVIDIAS), pod);
    assertThat(expressions(before)).contains(KEPT_OFF);
    Mutation again = PodUpdate.restore(before, pod, PlainRequestsTest.rules(PlainRequests.GPUS));
    assertThat(apply(again, pod).at("/spec/affinity")).isEqualTo(before.at("/spec/affinity"));
  }

  @ParameterizedTest
  @EnumSource(names = {"GPUS", "REPLICAS"})
  void podThatOnlyADraNodeAdmits_keepsItsSpec(PlainRequests plain) {
    ObjectNode pod = selecting(plain(2), "pool", "whole");
    limits(pod).put("nvidia.com/priority", "1");
    for (String scheduler : List.of("default-scheduler", "hub")) {
      ObjectNode asked = withScheduler(pod.deepCopy(), scheduler);
      Mutation mutation = mutator(plain).mutate(asked, cluster(OURS, DRA));
      JsonNode after = apply(mutation, asked);
      if (scheduler.equals("default-scheduler")) {
        assertThat(warnings(mutation)).anyMatch(w -> w.contains("nvidia.com/priority"));
        limits(asked).remove("nvidia.com/priority");
      }
      assertThat(after.path("spec")).isEqualTo(asked.path("spec"));
      assertThat(annotation(after, "gpus-served-by")).isEqualTo("other");
      assertThat(mutator(plain).mutate(after, cluster(OURS, DRA))).matches(Reviews::changesNothing);
    }
  }

  @Test
  void podThatADraNodeAdmitsToo_isConverted_andRestricted_byEitherScheduler() {
    for (String scheduler : List.of("default-scheduler", "hub")) {
      ObjectNode pod = withScheduler(plain(1), scheduler);
      Mutation mutation = mutate(pod, OURS, DRA);
      JsonNode after = apply(mutation, pod);
      assertThat(replicas(after)).isEqualTo("10");
      assertThat(expressions(after)).anyMatch(e -> e.contains(LABEL) && e.contains("\"10\""));
      assertThat(warnings(mutation)).anyMatch(w -> w.contains(OPT_OUT + ": \"unchanged\""));
      JsonNode restored = apply(mutate(after, DRA), after);
      assertThat(replicas(restored)).as("it counts replicas already").isEqualTo("10");
    }
    assertThat(replicas(apply(mutate(half(), OURS, DRA), half()))).isEqualTo("5");
  }

  /** A cordoned node comes back while the pod waits. */
  @Test
  void numberOfAnotherScheduler_isKeptOffDraNodes_thatAreCordonedNow() {
    var cordon = taints("node.kubernetes.io/unschedulable", "");
    GpuNode cordoned = node("dra", 0, cordon, SERVED_BY, "dra");
    ObjectNode pod = withScheduler(plain(1), "hub");
    JsonNode after = apply(mutate(pod, OURS, cordoned), pod);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(new NodeSelection(after.path("spec")).admits(cordoned)).isFalse();
    assertThat(mutate(after, OURS, cordoned)).matches(Reviews::changesNothing);
  }

  @Test
  void labelOfDra_isSelectedBeforeAnyNodeHasIt() {
    ObjectNode pod = selecting(plain(1), SERVED_BY, "dra");
    JsonNode after = apply(mutate(pod, OURS), pod);
    assertThat(replicas(after)).isEqualTo("1");
    assertThat(after.path("spec")).isEqualTo(pod.path("spec"));
  }

  @Test
  void annotationThatTheUserWrites_decidesNothing() {
    ObjectNode pod = annotated(plain(1), SERVED_BY, "other");
    JsonNode after = apply(mutate(pod, OURS, DRA), pod);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(annotation(after, "gpus-served-by")).isEmpty();
  }

  @Test
  void placementAnnotation_meansOurs_sinceOnlyTheyKnowGpus() {
    ObjectNode pod =
        annotated(selecting(plain(1), "pool", "whole"), "tranche.dev/gpu-placement", "load");
    JsonNode after = apply(mutate(pod, OURS, DRA), pod);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(annotation(after, "gpus-served-by")).isEmpty();
  }

  /** No extender keeps them off, and one replica would become a whole GPU. */
  @Test
  void replicasOfAnotherScheduler_areKeptOffDraNodes_andStay() {
    var mutator = mutator(PlainRequests.REPLICAS);
    ObjectNode mig = withScheduler(plain(1), "hub");
    limits(mig).removeAll().put("nvidia.com/mig-1g.5gb", "2");
    for (ObjectNode pod : List.of(withScheduler(plain(1), "hub"), mig)) {
      JsonNode after = apply(mutator.mutate(pod, cluster(OURS, DRA)), pod);
      assertThat(after.at("/spec/containers")).isEqualTo(pod.at("/spec/containers"));
      assertThat(expressions(after))
          .containsExactly(
              "{\"key\":\"%s\",\"operator\":\"NotIn\",\"values\":[\"dra\"]}".formatted(SERVED_BY));
      assertThat(mutator.mutate(after, cluster(OURS, DRA))).matches(Reviews::changesNothing);
    }
    ObjectNode none = withScheduler(Reviews.annotated(), "hub");
    assertThat(mutator.mutate(none, cluster(OURS, DRA))).matches(Reviews::changesNothing);
  }

  /** The kubelet checks required node affinity, and would fail the pod. */
  @Test
  void nodeName_decidesAlone_andAddsNoRequirement() {
    for (String scheduler : List.of("default-scheduler", "hub")) {
      for (String node : List.of("ours", "dra", "unknown")) {
        ObjectNode pod = withScheduler(plain(1), scheduler);
        ((ObjectNode) pod.path("spec")).put("nodeName", node);
        JsonNode after = apply(mutate(pod, OURS, DRA), pod);
        assertThat(replicas(after)).as(node).isEqualTo(node.equals("ours") ? "10" : "1");
        assertThat(after.at("/spec/affinity").isMissingNode()).as(node).isTrue();
      }
    }
  }

  @Test
  void problemOfATranslation_deniesAPodForForeignNodes() {
    ObjectNode pod = annotated(selecting(plain(1), "pool", "whole"), "gpu-memory", "much");
    assertThat(denial(mutate(pod, OURS, DRA))).contains("gpu-memory");
  }

  private static ObjectNode half() {
    return Reviews.annotated("gpu-fraction", "0.5");
  }

  private static ObjectNode limits(ObjectNode pod) {
    return (ObjectNode) pod.at("/spec/containers/0/resources/limits");
  }
}
