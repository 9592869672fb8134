package dev.tranche.webhook;

import static dev.tranche.webhook.Reviews.annotated;
import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.Warning;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Memory limits that pods ask for. */
class MemoryLimitTest {
  private static final GpuNode T4 = node("t4", 15360);
  private static final GpuNode A100 = node("a100", 81920);
  private static final MutationRules.Limits REQUIRED = new MutationRules.Limits(true, true);

  private static GpuNode node(String name, int memoryMib) {
    return Reviews.node(
        name, "nvidia.com/gpu.memory", "" + memoryMib, "tranche.dev/replicas-per-gpu", "10");
  }

  private static Mutation mutate(MutationRules.Limits limits, JsonNode pod, GpuNode... nodes) {
    return new PodMutator(Reviews.limits(Set.of(SharingSystem.KAI), limits))
        .mutate(pod, Reviews.cluster(nodes));
  }

  private static JsonNode asking(String limit) {
    return annotated("gpu-fraction", "0.3", "gpu-memory-limit", limit);
  }

  /** 15360 - 640 MiB are 4416 MiB for three of ten replicas. */
  @Test
  void limitWithinTheGrant_isAdmitted_andStaysOnThePod() {
    for (String limit : List.of("4416Mi", "1Gi", "none")) {
      Mutation mutation = mutate(REQUIRED, asking(limit), T4);
      assertThat(warnings(mutation)).isEmpty();
      assertThat(annotation(apply(mutation, asking(limit)), "gpu-memory-limit")).isEqualTo(limit);
    }
  }

  @Test
  void limitAboveTheGrant_isDenied_unlessAnEligibleNodeHasThatMuch() {
    assertThat(denial(mutate(REQUIRED, asking("4417Mi"), T4)))
        .isEqualTo(
            "tranche.dev/gpu-memory-limit: \"4417Mi\" is above what container \"main\" is granted,"
                + " 4416Mi; only an MPS v3 server takes borrowed memory back, and Tranche starts"
                + " none. Request a larger share, or a limit of at most 4416Mi.");
    assertThat(warnings(mutate(REQUIRED, asking("4417Mi"), T4, A100))).isEmpty();
    GpuNode unknown = Reviews.node("n", "tranche.dev/replicas-per-gpu", "10");
    assertThat(warnings(mutate(REQUIRED, asking("900Gi"), unknown))).isEmpty();
  }

  @Test
  void limitBesideARequestByMemory_isComparedWithWhatThatIsRoundedUpTo() {
    JsonNode more = annotated("gpu-memory", "4Gi", "gpu-memory-limit.main", "4416Mi");
    assertThat(warnings(mutate(REQUIRED, more, T4))).hasSize(1).first().asString().contains("4Gi");
    JsonNode tooMuch = annotated("gpu-memory", "4Gi", "gpu-memory-limit.main", "5Gi");
    assertThat(denial(mutate(REQUIRED, tooMuch, T4))).contains("4416Mi");
  }

  /** It may still go to every model, and the same replicas of an A100 are more. */
  @Test
  void limitOfAGatedPod_isComparedWithTheLargestModel() {
    ObjectNode gated = (ObjectNode) annotated("gpu-memory", "4Gi", "gpu-memory-limit", "10Gi");
    gated.withObject("/spec").putArray("schedulingGates").addObject().put("name", "queue");
    assertThat(warnings(mutate(REQUIRED, gated, T4, A100))).noneMatch(w -> w.contains("limit"));
    assertThat(denial(mutate(REQUIRED, gated, T4))).contains("4416Mi");
  }

  @Test
  void limitThatLeavesLittleBesideAContext_isWarnedOf() {
    JsonNode tenth = annotated("gpu-fraction", "0.1");
    GpuNode small = node("small", 8192);
    assertThat(warnings(mutate(REQUIRED, tenth, small)))
        .containsExactly(
            "container main gets a memory limit of at most 755Mi, and a CUDA context takes about"
                + " 450Mi of it. Request a larger share");
    assertThat(warnings(mutate(REQUIRED, asking("512Mi"), T4)))
        .containsExactly(
            "container main gets a memory limit of at most 512Mi, and a CUDA context takes about"
                + " 450Mi of it. Set tranche.dev/gpu-memory-limit to more");
    assertThat(warnings(mutate(REQUIRED, tenth, small, A100))).as("on the A100 8128Mi").isEmpty();
    JsonNode out = annotated("gpu-fraction", "0.1", "gpu-memory-limit", "none");
    assertThat(warnings(mutate(REQUIRED, out, small))).isEmpty();
    MutationRules.Limits off = new MutationRules.Limits(false, true);
    assertThat(warnings(mutate(off, tenth, small))).isEmpty();
  }

  @Test
  void optingOut_isDenied_whereItIsNotAllowed() {
    MutationRules.Limits strict = new MutationRules.Limits(true, false);
    assertThat(denial(mutate(strict, asking("none"), T4))).contains("nodePlugin.memoryLimitOptOut");
    assertThat(warnings(mutate(strict, asking("1Gi"), T4))).isEmpty();
  }

  @Test
  void limitThatNobodySets_isWarnedOf() {
    MutationRules.Limits off = new MutationRules.Limits(false, true);
    assertThat(warnings(mutate(off, asking("1Gi"), T4)))
        .containsExactly(
            "tranche.dev/gpu-memory-limit has no effect on container main: the node plugin sets no"
                + " memory limits here; your administrator can set nodePlugin.memoryLimits to"
                + " required");
    assertThat(warnings(mutate(off, asking("none"), T4))).isEmpty();
    JsonNode whole = annotated("gpu-fraction", "1", "gpu-memory-limit", "1Gi");
    assertThat(warnings(mutate(REQUIRED, whole, T4)))
        .containsExactly(
            "tranche.dev/gpu-memory-limit has no effect on container main: the driver limits shares"
                + " of less than a whole GPU; request one");
  }

  @Test
  void misspeltLimit_isWarnedOf() {
    JsonNode pod = annotated("gpu-fraction", "0.3", "gpu-memory-limits.main", "1Gi");
    assertThat(warnings(mutate(REQUIRED, pod, T4)))
        .containsExactly(
            Warning.UNKNOWN.of(
                "tranche.dev/gpu-memory-limits.main",
                "tranche.dev/",
                "gpu-fraction, gpu-memory, gpu-memory-limit, gpu-count, gpu-container,"
                    + " gpu-placement, gpu-model, gpu-uuid and plain-requests"));
  }

  /** Of KAI's request and limit, the share must be the limit: nothing takes the rest back. */
  @Test
  void kaisLimit_isTheShare_andItsModeChoosesNodes() {
    JsonNode pod =
        Reviews.pod(
            Map.of(
                "nvidia.com/container.main.gpu-memory.request", "2Gi",
                "nvidia.com/container.main.gpu-memory.limit", "4Gi",
                "kai.scheduler/gpu-compute-sharing-mode", "sm-sharing"));
    GpuNode mps =
        Reviews.node(
            "mps",
            "nvidia.com/gpu.memory",
            "15360",
            "tranche.dev/replicas-per-gpu",
            "10",
            "tranche.dev/sharing-strategy",
            "mps");
    JsonNode after = apply(mutate(REQUIRED, pod, mps), pod);
    assertThat(annotation(after, "gpu-memory.main")).isEqualTo("4Gi");
    assertThat(annotation(after, "gpu-memory-limit.main")).isEmpty();
    assertThat(after.at("/spec/nodeSelector").toString()).contains("\"mps\"");
  }
}
