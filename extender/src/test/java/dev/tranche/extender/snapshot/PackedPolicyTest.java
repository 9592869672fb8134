package dev.tranche.extender.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.FakeWorld;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PackedPolicyTest {
  private static final HostRequest FOUR = new HostRequest(4_000, 4_096);
  private final PackedPolicy packing = new PackedPolicy();

  private void choose(String node) {
    assertThat(packing.chooseWithoutGpu(FOUR, List.of(node), name -> List.of())).contains(node);
  }

  @Test
  void aRoomIsKept_asLongAsItsNodeIsThere() {
    packing.nodeSeen("a", FOUR);
    choose("a");
    assertThat(packing.cachedCapacities()).isOne();
    packing.nodeGone("a");
    packing.forget("a");
    assertThat(packing.cachedCapacities()).isZero();
    // kube-scheduler had not heard of it yet.
    choose("a");
    assertThat(packing.cachedCapacities()).isZero();
  }

  /** Its end was seen by no watch: its CPU and memory would be taken for ever. */
  @Test
  void podThatTheApiServerHasNoMore_takesNothing() {
    packing.nodeSeen("a", FOUR);
    var pod = FakeWorld.pod("p", 3);
    packing.requested(pod.uid(), FOUR);
    packing.apply(new Event.BindStarted(pod, "a", Placement.of(List.of())));
    assertThat(packing.pods()).isOne();
    packing.apply(new Event.PodChecked(pod.uid(), pod.key(), null, 0));
    assertThat(packing.pods()).isZero();
  }
}
