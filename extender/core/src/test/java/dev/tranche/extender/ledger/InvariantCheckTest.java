package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.extender.explain.InvariantCheck;
import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.Invariant;
import dev.tranche.extender.invariant.InvariantWatch.Standing;
import dev.tranche.extender.invariant.ObservedCluster;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A running cluster is judged by the kubelets' lists, the pods' annotations and the holds. */
final class InvariantCheckTest extends LedgerRig {
  private static final Map<String, Map<String, Integer>> THREE_OF_GPU_0 =
      Map.of("main", Map.of("gpu-0", 3));

  private final InvariantCheck check = new InvariantCheck(ledger, () -> nowMs);

  private InvariantCheck.Round round() {
    while (check.step()) {}
    return check.latest().orElseThrow();
  }

  private List<Invariant> found() {
    return round().findings().stream().map(Standing::finding).map(Finding::invariant).toList();
  }

  /** Bound for so long that the kubelet's next list shows it. */
  private void bound(PodFacts pod) {
    apply(new Event.PodSeen(pod));
    nowMs += 10_000;
  }

  @Test
  void podOnItsGpu_isFoundInOrder() {
    bound(pod("a", NODE, "gpu-0"));
    report(NODE, Map.of("ns/a", THREE_OF_GPU_0));
    InvariantCheck.Round round = round();
    assertThat(round.findings()).isEmpty();
    assertThat(round.nodes()).isEqualTo(1);
    assertThat(round.gpus()).isEqualTo(2);
    assertThat(round.pods()).isEqualTo(1);
    assertThat(round.broken()).isZero();
  }

  @Test
  void podOnAnotherGpuThanItsAnnotationSays_isFoundAtOnce() {
    bound(pod("a", NODE, "gpu-1"));
    report(NODE, Map.of("ns/a", THREE_OF_GPU_0));
    assertThat(found()).containsExactly(Invariant.POD_ON_PROMISED_GPU);
    assertThat(round().broken()).isEqualTo(1);
  }

  @Test
  void gpuThatTheKubeletHasGivenTwice_isFound_alsoOfAPodThatNoWatchHasShown() {
    bound(pod("a", NODE, "gpu-0"));
    report(NODE, Map.of("ns/a", THREE_OF_GPU_0, "ns/unseen", Map.of("main", Map.of("gpu-0", 8))));
    assertThat(found()).containsExactly(Invariant.GPU_ALLOCATED_ONCE);
  }

  @Test
  void annotationsThatPromiseMoreThanAGpu_areFound_beforeAnyPodIsAdmitted() {
    report(NODE, Map.of());
    for (String uid : List.of("a", "b", "c", "d")) {
      bound(pod(uid, NODE, "gpu-0"));
    }
    assertThat(found()).containsExactly(Invariant.GPU_PROMISED_ONCE);
  }

  @Test
  void moreThanTheHold_isBroken_onceItStandsForItsBound() {
    bound(pod("a", NODE, "gpu-0"));
    report(NODE, Map.of("ns/a", Map.of("main", Map.of("gpu-0", 4))));
    assertThat(found()).containsExactly(Invariant.HOLD_MATCHES_KUBELET);
    assertThat(round().broken()).isZero();
    nowMs += Invariant.HOLD_MATCHES_KUBELET.boundMs;
    assertThat(round().broken()).isEqualTo(1);
    check.reset();
    assertThat(check.latest()).isEmpty();
    assertThat(round().broken()).as("a gap does not count").isZero();
  }

  /** The kubelet's list omits an init container that has ended. */
  @Test
  void whatAnInitContainerHadBeyondTheOthers_isNoDifference() {
    var init = new Demand.Request("init", Demand.Kind.INIT, 5);
    var main = new Demand.Request("main", Demand.Kind.APP, 3);
    bound(
        TestFacts.running(
            TestFacts.pod(
                "a", NODE, Map.of(Names.GPU, "gpu-0", Names.REPLICAS_PER_GPU, "10"), init, main)));
    report(NODE, Map.of("ns/a", THREE_OF_GPU_0));
    assertThat(found()).isEmpty();
  }

  /** What it has told may be long over. */
  @Test
  void silentNode_isNotJudgedByItsLastList() {
    bound(pod("a", NODE, "gpu-1"));
    report(NODE, Map.of("ns/a", THREE_OF_GPU_0));
    apply(new Event.StreamLost(NODE));
    assertThat(found()).isEmpty();
  }

  @Test
  void findingsBeyondTheLimit_areCounted() {
    int pods = InvariantCheck.FINDINGS_MAX / 4;
    for (int node = 0; node < 5; node++) {
      var holdings = new HashMap<String, Map<String, Map<String, Integer>>>();
      for (int i = 0; i < pods; i++) {
        // Two GPUs beside one another: each pod is on the other one.
        holdings.put("ns/%d-%d".formatted(node, i), Map.of("main", Map.of("gpu-0", 0)));
        apply(new Event.PodSeen(pod("%d-%d".formatted(node, i), "n" + node, "gpu-1")));
      }
      nowMs += 10_000;
      report("n" + node, holdings);
    }
    InvariantCheck.Round round = round();
    assertThat(round.findings()).hasSize(InvariantCheck.FINDINGS_MAX);
    assertThat(round.leftOut()).isPositive();
    assertThat(round.broken()).isGreaterThan(InvariantCheck.FINDINGS_MAX);
  }

  /** The exact sum of so many parts would take the loop long. */
  @Test
  void nodeThatNamesManyR_hasPartsThatAreEasyToAdd() {
    var holdings = new HashMap<String, Map<String, Map<String, Integer>>>();
    var grants = new HashMap<String, Map<String, NodeState.Grant>>();
    BigInteger prime = BigInteger.valueOf(1 << 30);
    for (int i = 0; i < 400; i++) {
      prime = prime.nextProbablePrime();
      holdings.put("ns/p" + i, Map.of("main", Map.of("gpu-0", 1 << 29)));
      grants.put("ns/p" + i, Map.of("gpu-0", new NodeState.Grant(prime.intValueExact(), true)));
    }
    apply(
        reported(
            NODE,
            new NodeState(true, List.of(gpu("gpu-0", 0)), holdings, true, grants, List.of())));
    assertThat(found()).containsExactly(Invariant.GPU_ALLOCATED_ONCE);
    List<GpuPart> parts =
        ledger.observe(NODE).pods().stream()
            .map(ObservedCluster.Pod::allocated)
            .flatMap(allocated -> allocated.values().stream())
            .toList();
    assertThat(parts).hasSize(400);
    assertThat(parts.stream().map(GpuPart::denominator).distinct()).hasSizeLessThan(60);
  }
}
