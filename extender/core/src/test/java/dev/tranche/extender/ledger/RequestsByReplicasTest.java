package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class RequestsByReplicasTest {
  private static PodFacts pod(Map<String, String> annotations) {
    return LedgerRig.facts("p", null, false, annotations);
  }

  /** A node's credential in the wrong hands: each report has another R, for as long as it likes. */
  @Test
  void nodeThatReportsAnotherNumberEachTime_fillsNothing() {
    var requests = new RequestsByReplicas(pod(Map.of(Names.GPU_MODEL, "A100")));
    for (int replicas = 1; replicas <= 10_000; replicas++) {
      assertThat(requests.of(replicas).demand().replicasPerGpu()).isEqualTo(replicas);
      assertThat(requests.requests.size()).isLessThanOrEqualTo(RequestsByReplicas.COUNT_MAX);
    }
  }

  @Test
  void sizedPod_hasOneRequestForAllNodes() {
    var requests = new RequestsByReplicas(pod(Map.of(Names.REPLICAS_PER_GPU, "10")));
    assertThat(List.of(4, 7, 10).stream().map(requests::of).distinct()).hasSize(1);
    assertThat(requests.of(7).demand().replicasPerGpu()).isEqualTo(10);
  }
}
