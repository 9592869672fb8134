package dev.tranche.extender.explain;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class SchedulerAdviceTest {
  private static List<String> of(String message) {
    return SchedulerAdvice.of(message, "nvidia.com/gpu");
  }

  @Test
  void schedulersReasons_areEachAnswered() {
    List<String> advice =
        of(
            "0/5 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu, 1 node(s)"
                + " didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint"
                + " {a: b}. preemption: 0/5 nodes are available");
    assertThat(advice).hasSize(4);
    assertThat(advice.get(0)).startsWith("Insufficient nvidia.com/gpu").contains("describe node");
    assertThat(advice.get(2)).contains("tranche.dev/replicas-per-gpu", "recreate the pod");
  }

  @Test
  void reasonsOfOurs_haveTheirOwnSentences() {
    assertThat(of("0/1 nodes are available: 1 the node's GPUs have too few free replicas."))
        .isEmpty();
  }
}
