package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.Reviews.annotated;
import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.cluster;
import static dev.tranche.webhook.Reviews.expressions;
import static dev.tranche.webhook.Reviews.plain;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Taint;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Mutation;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which nodes decide about R and the memory model. */
class CandidateNodesTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final Taints TEAM = new Taints(List.of(new Taint("team", "x", "NoSchedule")));
  private static final Map<String, Long> SOME = Map.of(GPU, 10L);

  private final PodMutator mutator = new PodMutator(Reviews.RULES);
  private final MutationRules.Cluster large =
      cluster(
          node("a", "4", "81920", SOME, TEAM),
          node("b", "4", "81920", SOME, TEAM),
          node("t4", "4", "15360", SOME, Taints.NONE));

  @Test
  void memory_isThatOfTheNodeThatTakesThePod_andNotOfMoreThatRepelIt() {
    ObjectNode pod = annotated("gpu-memory", "6Gi");
    Mutation mutation = mutator.mutate(pod, large);
    assertThat(expressions(apply(mutation, pod))).singleElement().asString().contains("15360");
    assertThat(warnings(mutation)).noneMatch(w -> w.contains("81920"));
  }

  @Test
  void tolerantPod_isStillCountedAmongTheMany() {
    ObjectNode pod = annotated("gpu-memory", "6Gi");
    pod.withObject("/spec")
        .putArray("tolerations")
        .addObject()
        .put("key", "team")
        .put("operator", "Exists");
    assertThat(expressions(apply(mutator.mutate(pod, large), pod)))
        .singleElement()
        .asString()
        .contains("81920");
  }

  @Test
  void replicasPerGpu_areThoseOfTheNodeThatTakesThePod_andThePodIsKeptThere() {
    var cluster =
        cluster(
            node("a", "10", "15360", SOME, TEAM),
            node("b", "10", "15360", SOME, TEAM),
            node("c", "4", "15360", SOME, Taints.NONE));
    ObjectNode pod = annotated("gpu-fraction", "0.5");
    JsonNode after = apply(mutator.mutate(pod, cluster), pod);
    assertThat(annotation(after, "replicas-per-gpu")).isEqualTo("4");
    assertThat(expressions(after)).singleElement().asString().contains("[\"4\"]");
  }

  @Test
  void taintsEverywhere_areNoReason_sinceTheyMayGo() {
    var cluster = cluster(node("a", "4", "15360", SOME, TEAM));
    ObjectNode pod = annotated("gpu-fraction", "0.5");
    assertThat(annotation(apply(mutator.mutate(pod, cluster), pod), "replicas-per-gpu"))
        .isEqualTo("4");
  }

  @Test
  void nodesWithoutTheResource_areNoPlaceToLand() {
    var renamed = Map.of("nvidia.com/gpu.shared", 10L);
    var cluster =
        cluster(
            node("a", "4", "81920", renamed, Taints.NONE),
            node("b", "4", "81920", renamed, Taints.NONE),
            node("t4", "4", "15360", SOME, Taints.NONE));
    ObjectNode pod = annotated("gpu-memory", "6Gi");
    assertThat(expressions(apply(mutator.mutate(pod, cluster), pod)))
        .singleElement()
        .asString()
        .contains("15360");
  }

  /** What one node says of itself keeps a pod off that node, and not off the others. */
  @Test
  void hostPid_isKeptOffMpsNodes() {
    var mps =
        new GpuNode(
            "m",
            Map.of("tranche.dev/replicas-per-gpu", "4", "tranche.dev/sharing-strategy", "mps"),
            SOME,
            Taints.NONE);
    ObjectNode pod = annotated("gpu-fraction", "0.5");
    pod.withObject("/spec").put("hostPID", true);
    var cluster = cluster(mps, node("t4", "10", "15360", SOME, Taints.NONE));
    Mutation mutation = mutator.mutate(pod, cluster);
    JsonNode after = apply(mutation, pod);
    // The MPS node's number of replicas does not count either.
    assertThat(annotation(after, "replicas-per-gpu")).isEqualTo("10");
    assertThat(expressions(after))
        .containsExactly(
            "{\"key\":\"tranche.dev/sharing-strategy\",\"operator\":\"NotIn\",\"values\":[\"mps\"]}");
    assertThat(warnings(mutation))
        .anyMatch(w -> w.contains("cannot use nodes that share GPUs by MPS"));
    assertThat(mutator.mutate(after, cluster)).matches(Reviews::changesNothing);
    assertThat(expressions(apply(mutator.mutate(pod, cluster(mps)), pod)))
        .as("it waits for another node")
        .hasSize(1);
    // It may share by MPS only after the pod's admission.
    JsonNode before = apply(mutator.mutate(pod, cluster()), pod);
    assertThat(expressions(before)).hasSize(1).allMatch(e -> e.contains("sharing-strategy"));
  }

  /** The kubelet mounts it over that of MPS. Only containers with GPUs are clients of MPS. */
  @ParameterizedTest
  @CsvSource({
    "/dev/shm,true",
    "/dev/shm/,true",
    "//dev//shm,true",
    "/dev/shm/cache,false",
    "/dev,false",
    "/data/dev/shm,false"
  })
  void ownShm_isWarnedOf_whereANodeSharesByMps(String path, boolean warned) {
    GpuNode other = node("t4", "4", "15360", SOME, Taints.NONE);
    GpuNode mps =
        Reviews.node(
            "m", "tranche.dev/replicas-per-gpu", "4", "tranche.dev/sharing-strategy", "mps");
    ObjectNode ofOtherScheduler = plain(1);
    ofOtherScheduler.withObject("/spec").put("schedulerName", "hub");
    for (ObjectNode pod : List.of(annotated("gpu-fraction", "0.5"), plain(1), ofOtherScheduler)) {
      mount(pod.withObject("/spec/containers/0"), path);
      assertThat(warnsOfShm(pod, other, mps)).isEqualTo(warned);
      assertThat(warnsOfShm(pod, other)).isFalse();
    }
    ObjectNode beside = annotated("gpu-fraction", "0.5");
    mount(beside.withArray("/spec/initContainers").addObject().put("name", "log"), path);
    assertThat(warnsOfShm(beside, other, mps)).isFalse();
  }

  private static void mount(ObjectNode container, String path) {
    container.putArray("volumeMounts").addObject().put("mountPath", path);
  }

  private boolean warnsOfShm(ObjectNode pod, GpuNode... nodes) {
    return warnings(mutator.mutate(pod, cluster(nodes))).stream()
        .anyMatch(warning -> warning.contains("hides that of MPS"));
  }

  /** Else all new pods would be kept on the one node that says so. */
  @Test
  void defaultReplicas_ofOneNodeAmongMany_doNotDecideAboutAll() {
    var four = node("a", "4", "15360", SOME, Taints.NONE);
    var alsoFour = node("b", "4", "15360", SOME, Taints.NONE);
    var ten = node("c", "10", "15360", SOME, Taints.NONE);
    assertThat(replicas(four, alsoFour, ten)).isEqualTo("4");
    assertThat(replicas(four, ten)).isEqualTo("10");
    assertThat(replicas(four, alsoFour, ten, node("d", "10", "15360", SOME, Taints.NONE)))
        .isEqualTo("10");
  }

  private String replicas(GpuNode... nodes) {
    ObjectNode pod = annotated("gpu-fraction", "0.5");
    return annotation(apply(mutator.mutate(pod, cluster(nodes)), pod), "replicas-per-gpu");
  }

  private static GpuNode node(
      String name, String replicas, String memory, Map<String, Long> capacity, Taints taints) {
    var labels = new HashMap<String, String>();
    labels.put("tranche.dev/replicas-per-gpu", replicas);
    labels.put("nvidia.com/gpu.memory", memory);
    return new GpuNode(name, labels, capacity, taints);
  }
}
