package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.SchedulerVerdict.Blocker;
import dev.tranche.extender.ledger.SchedulerVerdict.Kind;
import dev.tranche.extender.ledger.SchedulerVerdict.State;
import dev.tranche.extender.placement.Reason;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The messages are those of kube-scheduler 1.34. */
final class SchedulerVerdictTest {
  private static SchedulerVerdict of(String message) {
    return SchedulerVerdict.of("Unschedulable", message, "nvidia.com/gpu");
  }

  @Test
  void reasons_areCounted_withoutWhatFollowsAboutPreemption() {
    SchedulerVerdict verdict =
        of(
            "0/6 nodes are available: 1 Insufficient cpu, 2 Insufficient nvidia.com/gpu, 1 node(s)"
                + " had untolerated taint {team: a, b}, 3 node(s) didn't match Pod's node"
                + " affinity/selector. no new claims to deallocate, preemption: 0/6 nodes are"
                + " available: 6 Preemption is not helpful for scheduling.");
    assertThat(verdict.state()).isEqualTo(State.REFUSED);
    assertThat(verdict.nodes())
        .isEqualTo(Map.of(Blocker.CPU, 1, Blocker.GPUS, 2, Blocker.TAINTS, 1, Blocker.AFFINITY, 3));
    assertThat(verdict.refusals()).containsExactly(Reason.FULL);
  }

  @Test
  void sentencesOfTheExtender_areItsReasons() {
    SchedulerVerdict verdict =
        of(
            "0/2 nodes are available: 1 %s, 1 %s."
                .formatted(Reason.MEMORY.sentence, Reason.OTHER_REPLICAS.sentence));
    assertThat(verdict.nodes()).isEqualTo(Map.of(Blocker.GPUS, 2));
    assertThat(verdict.refusals()).containsExactly(Reason.OTHER_REPLICAS, Reason.MEMORY);
  }

  @Test
  void otherReasons_haveTheirKinds() {
    Map<String, Blocker> known =
        Map.ofEntries(
            Map.entry("Insufficient memory", Blocker.MEMORY),
            Map.entry("Insufficient ephemeral-storage", Blocker.OTHER_RESOURCE),
            Map.entry("Insufficient amd.com/gpu", Blocker.OTHER_RESOURCE),
            Map.entry("Too many pods", Blocker.PODS),
            Map.entry("node(s) didn't have free ports for the requested pod ports", Blocker.PORTS),
            Map.entry("node(s) were unschedulable", Blocker.CORDONED),
            Map.entry("node(s) had volume node affinity conflict", Blocker.VOLUMES),
            Map.entry("node(s) didn't match pod affinity rules", Blocker.OTHER_PODS),
            Map.entry("node(s) didn't match pod anti-affinity rules", Blocker.OTHER_PODS),
            Map.entry("node(s) didn't match pod topology spread constraints", Blocker.OTHER_PODS),
            Map.entry("node(s) didn't match the requested node name", Blocker.AFFINITY),
            Map.entry("something of a later version", Blocker.OTHER));
    known.forEach(
        (text, blocker) ->
            assertThat(of("0/1 nodes are available: 1 " + text + ".").nodes())
                .as(text)
                .isEqualTo(Map.of(blocker, 1)));
    assertThat(of("pod has unbound immediate PersistentVolumeClaims").nodes())
        .isEqualTo(Map.of(Blocker.VOLUMES, 1));
    assertThat(of("no nodes available to schedule pods").has(Kind.NODE)).isTrue();
  }

  @Test
  void gatedPod_wasNotTried() {
    var gated =
        SchedulerVerdict.of(
            "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates", "r");
    assertThat(gated.state()).isEqualTo(State.GATED);
    assertThat(gated.nodes()).isEmpty();
  }

  @Test
  void hostileMessage_isReadToABound() {
    SchedulerVerdict verdict = of("0/1 nodes are available: " + "1 x, ".repeat(100_000));
    assertThat(verdict.nodes()).hasSize(1);
    assertThat(verdict.nodes().get(Blocker.OTHER)).isLessThan(2_000);
  }
}
