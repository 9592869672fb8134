package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.NodeView.Availability;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class AcknowledgementsTest extends LedgerRig {
  @BeforeEach
  void report() {
    for (String node : List.of(NODE, "node-b", "node-c", "node-d", "node-e")) {
      report(node, Map.of());
    }
  }

  @Test
  void backoff_doublesUpTo5Min_andTheFirstAcknowledgementEndsIt() {
    for (int seconds : new int[] {10, 20, 40, 80, 160, 300, 300}) {
      assertThat(fail(NODE, nowMs)).containsExactly(new Decision.BackedOff(NODE, seconds * 1_000L));
      nowMs += seconds * 1_000L - 1;
      tick();
      assertThat(availability(NODE)).isEqualTo(Availability.NOT_ACKNOWLEDGING);
      nowMs++;
      // Pending pods are tried on it again.
      assertThat(tick()).containsExactly(new Decision.CapacityGrew(NODE));
      assertThat(availability(NODE)).isEqualTo(Availability.AVAILABLE);
    }
    fail(NODE, nowMs);
    assertThat(ledger.acknowledgements.backedOff()).isOne();
    assertThat(apply(new Event.Acknowledged(NODE)))
        .containsExactly(new Decision.CapacityGrew(NODE));
    assertThat(ledger.acknowledgements.backedOff()).isZero();
    assertThat(fail(NODE, nowMs)).containsExactly(new Decision.BackedOff(NODE, 10_000));
  }

  /** They were sent before anybody knew. */
  @Test
  void assignmentsThatWereInFlightTogether_countOnce() {
    long sentAtMs = nowMs;
    nowMs += 2_000;
    assertThat(fail(NODE, sentAtMs)).containsExactly(new Decision.BackedOff(NODE, 10_000));
    assertThat(fail(NODE, sentAtMs)).isEmpty();
    nowMs += 5_000;
    assertThat(fail(NODE, sentAtMs + 1_999)).isEmpty();
    nowMs += 5_000;
    tick();
    assertThat(availability(NODE)).isEqualTo(Availability.AVAILABLE);
  }

  /** Else a node would reconnect whenever it is left out. */
  @Test
  void reconnecting_endsNoBackoff() {
    apply(new Event.NodeSeen(new NodeFacts(NODE, Set.of(), "", true)));
    fail(NODE, nowMs);
    apply(new Event.StreamLost(NODE));
    report(NODE, Map.of());
    assertThat(availability(NODE)).isEqualTo(Availability.NOT_ACKNOWLEDGING);
  }

  @Test
  void mostNodes_areNotLeftOut_untilFewerThanHalfFail() {
    fail(NODE, nowMs);
    fail("node-b", nowMs);
    assertThat(ledger.acknowledgements.backedOff()).isEqualTo(2);
    assertThat(ledger.acknowledgements.mostMissing()).isEmpty();
    assertThat(fail("node-c", nowMs))
        .containsExactlyInAnyOrder(
            new Decision.CapacityGrew(NODE), new Decision.CapacityGrew("node-b"));
    assertThat(ledger.acknowledgements.mostMissing()).isPresent();
    assertThat(ledger.acknowledgements.backedOff()).isZero();
    apply(new Event.Acknowledged("node-b"));
    tick();
    assertThat(ledger.acknowledgements.mostMissing()).isEmpty();
    assertThat(availability(NODE)).isEqualTo(Availability.NOT_ACKNOWLEDGING);
    assertThat(availability("node-b")).isEqualTo(Availability.AVAILABLE);
  }

  /** Where no pod is created, no acknowledgement comes that could end it. */
  @Test
  void mostNodes_countForHalfAMinute_whereNothingIsAssigned() {
    List<String> most = List.of(NODE, "node-b", "node-c");
    for (int i = 0; i < 10; i++) {
      most.forEach(node -> fail(node, nowMs));
      nowMs += 10_000;
      tick();
      assertThat(ledger.acknowledgements.mostMissing()).isPresent();
    }
    nowMs += AckBackoff.RECENT_MS;
    tick();
    assertThat(ledger.acknowledgements.mostMissing()).isEmpty();
    assertThat(availability(NODE)).isEqualTo(Availability.AVAILABLE);
  }

  @Test
  void mostNodes_thatAllAcknowledgeBeforeTheNextTick_countNoLonger() {
    List<String> most = List.of(NODE, "node-b", "node-c");
    most.forEach(node -> fail(node, nowMs));
    most.forEach(node -> apply(new Event.Acknowledged(node)));
    tick();
    assertThat(ledger.acknowledgements.mostMissing()).isEmpty();
  }

  /** There is none to prefer, and one node says nothing of us. */
  @Test
  void onlyNode_isNotLeftOut() {
    IntStream.range('b', 'f').forEach(c -> apply(new Event.StreamLost("node-" + (char) c)));
    assertThat(fail(NODE, nowMs)).isEmpty();
    assertThat(availability(NODE)).isEqualTo(Availability.AVAILABLE);
    assertThat(ledger.acknowledgements.mostMissing()).isEmpty();
  }

  /** Rare failures of many nodes over days do not add up to a fault of ours. */
  @Test
  void failuresLongPast_areForgotten() {
    for (String node : List.of(NODE, "node-b", "node-c", "node-d")) {
      assertThat(fail(node, nowMs)).containsExactly(new Decision.BackedOff(node, 10_000));
      nowMs += 10_000 + AckBackoff.LONGEST_MS;
      tick();
    }
    assertThat(ledger.acknowledgements.mostMissing()).isEmpty();
  }

  @Test
  void unknownNode_isIgnored() {
    assertThat(fail("nowhere", nowMs)).isEmpty();
    assertThat(apply(new Event.Acknowledged("nowhere"))).isEmpty();
  }

  private List<Decision> fail(String node, long sentAtMs) {
    return apply(new Event.Unacknowledged(node, sentAtMs));
  }

  private List<Decision> tick() {
    return apply(new Event.Tick());
  }

  private Availability availability(String node) {
    return ledger.view(node, hold -> true, nowMs).availability();
  }
}
