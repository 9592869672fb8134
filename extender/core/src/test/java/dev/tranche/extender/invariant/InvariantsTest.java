package dev.tranche.extender.invariant;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.GpuPart;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class InvariantsTest {
  private static final GpuPart HALF = GpuPart.of(5, 10);
  private static final GpuPart MORE = GpuPart.of(2, 3);

  private static ObservedCluster.Pod pod(
      String uid, @Nullable String node, Map<String, GpuPart> promised, Map<String, GpuPart> has) {
    return new ObservedCluster.Pod(
        uid, "ns/" + uid, node, false, promised, has, false, false, null);
  }

  private static ObservedCluster.Pod bound(String uid, GpuPart part) {
    return pod(uid, "n", Map.of("G", part), Map.of("G", part));
  }

  private static ObservedCluster.Hold hold(String uid, String gpu, GpuPart part) {
    return new ObservedCluster.Hold(uid, "ns/" + uid, "n", Map.of(gpu, part));
  }

  private static List<Invariant> broken(
      List<ObservedCluster.Pod> pods, List<ObservedCluster.Hold> holds) {
    return Invariants.all(new ObservedCluster(pods, holds)).stream()
        .map(Finding::invariant)
        .toList();
  }

  @Test
  void twoHalves_areOneGpu() {
    assertThat(
            broken(
                List.of(bound("a", HALF), bound("b", HALF)),
                List.of(hold("a", "G", HALF), hold("b", "G", HALF))))
        .isEmpty();
  }

  @Test
  void partsOfDifferentReplicas_addUp() {
    assertThat(
            broken(
                List.of(bound("a", HALF), bound("b", MORE)),
                List.of(hold("a", "G", HALF), hold("b", "G", MORE))))
        .containsExactly(Invariant.GPU_ALLOCATED_ONCE, Invariant.GPU_PROMISED_ONCE);
  }

  @Test
  void otherGpuThanPromised_isFound() {
    var drifted = pod("a", "n", Map.of("G", HALF), Map.of("H", HALF));
    assertThat(broken(List.of(drifted), List.of(hold("a", "H", HALF))))
        .containsExactly(Invariant.POD_ON_PROMISED_GPU);
    assertThat(broken(List.of(drifted), List.of(hold("a", "G", HALF))))
        .containsExactly(Invariant.POD_ON_PROMISED_GPU, Invariant.HOLD_MATCHES_KUBELET);
  }

  @Test
  void podWhosePromisedGpuCouldNotBeGiven_isNotFound_andNothingIsPromisedToIt() {
    var elsewhere =
        new ObservedCluster.Pod(
            "a", "ns/a", "n", false, Map.of("H", MORE), Map.of("G", HALF), true, false, null);
    var later = bound("b", HALF);
    assertThat(
            broken(List.of(elsewhere, later), List.of(hold("a", "G", HALF), hold("b", "G", HALF))))
        .isEmpty();
    // Its place was promised to another pod, which the kubelet refuses.
    var refused = pod("c", "n", Map.of("G", MORE), Map.of());
    assertThat(
            broken(
                List.of(elsewhere, refused), List.of(hold("a", "G", HALF), hold("c", "G", MORE))))
        .isEmpty();
    assertThat(
            broken(
                List.of(elsewhere, bound("d", MORE)),
                List.of(hold("a", "G", HALF), hold("d", "G", MORE))))
        .containsExactly(Invariant.GPU_ALLOCATED_ONCE);
  }

  @Test
  void podWhoseGpusWereDividedOtherwise_keepsNoPromiseOfTheRest() {
    var divided = pod("a", "n", Map.of("G", HALF, "H", HALF), Map.of("H", GpuPart.of(10, 10)));
    var holdOfAll = hold("a", "H", GpuPart.of(10, 10));
    var later = bound("b", MORE);
    assertThat(broken(List.of(divided, later), List.of(holdOfAll, hold("b", "G", MORE)))).isEmpty();
    // What it has not been given yet is still promised.
    var partly = pod("a", "n", Map.of("G", HALF, "H", HALF), Map.of("H", HALF));
    assertThat(broken(List.of(partly, later), List.of(hold("a", "H", HALF), hold("b", "G", MORE))))
        .containsExactly(Invariant.GPU_PROMISED_ONCE);
  }

  @Test
  void holdsAndPods_matchEachOther() {
    assertThat(broken(List.of(bound("a", HALF)), List.of()))
        .containsExactly(Invariant.BOUND_POD_HAS_HOLD);
    assertThat(broken(List.of(), List.of(hold("a", "G", HALF))))
        .containsExactly(Invariant.HOLD_HAS_POD);
  }

  @Test
  void waitingPod_thatFits_isFound() {
    var waits =
        new ObservedCluster.Pod("a", "ns/a", null, false, Map.of(), Map.of(), false, false, "n");
    assertThat(broken(List.of(waits), List.of())).containsExactly(Invariant.WAITING_POD_IS_BOUND);
    assertThat(broken(List.of(pod("b", null, Map.of(), Map.of())), List.of())).isEmpty();
  }

  @Test
  void unhealthyGpu_isFound() {
    var sick =
        new ObservedCluster.Pod(
            "a", "ns/a", "n", false, Map.of("G", HALF), Map.of("G", HALF), false, true, null);
    assertThat(broken(List.of(sick), List.of(hold("a", "G", HALF))))
        .containsExactly(Invariant.NOTHING_ON_UNHEALTHY_GPU);
  }

  @Test
  void finding_isBroken_onceItStandsForItsBound() {
    var watch = new InvariantWatch();
    var found = List.of(new Finding(Invariant.HOLD_HAS_POD, "a", ""));
    long boundMs = Invariant.HOLD_HAS_POD.boundMs;
    assertThat(watch.update(found, 0)).isEmpty();
    assertThat(watch.update(found, boundMs - 1)).isEmpty();
    assertThat(watch.update(found, boundMs)).isEqualTo(found);
    assertThat(watch.update(List.of(), boundMs + 1)).isEmpty();
    assertThat(watch.update(found, boundMs + 2)).isEmpty();
    var overfull = List.of(new Finding(Invariant.GPU_ALLOCATED_ONCE, "G", ""));
    assertThat(watch.update(overfull, 0)).isEqualTo(overfull);
  }
}
