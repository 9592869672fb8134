package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ReadBackPaceTest {
  private static final List<Holding> HELD =
      List.of(
          Holding.newBuilder()
              .setNamespace("default")
              .setPod("last")
              .setContainer("main")
              .setResource("nvidia.com/gpu")
              .addDeviceIds("GPU-0::0")
              .build());

  private final ReadBackPace pace = new ReadBackPace();

  private void empty(int lists) {
    IntStream.range(0, lists).forEach(i -> pace.listed(false));
  }

  private long due(boolean registered, int beats) {
    return IntStream.range(0, beats).filter(i -> pace.beat(registered)).count();
  }

  @Test
  void everyBeat_readsUntilEnoughListsAreEmpty_thenOneInFive() {
    empty(ReadBackPace.IDLE_BEATS - 1);
    assertThat(due(true, 10)).isEqualTo(10);
    empty(1);
    assertThat(due(true, 10)).isEqualTo(2);
  }

  @Test
  void everyBeat_readsWhileSomethingIsHeld() {
    empty(ReadBackPace.IDLE_BEATS);
    pace.listed(true);
    empty(ReadBackPace.IDLE_BEATS - 1);
    assertThat(due(true, 10)).isEqualTo(10);
  }

  @Test
  void everyBeat_readsAgainAfterADisturbance() {
    empty(ReadBackPace.IDLE_BEATS);
    pace.readMoreOften();
    assertThat(due(true, 10)).isEqualTo(10);
  }

  @Test
  void everyBeat_readsWhileAnAllocateMayGoToAnother() {
    empty(ReadBackPace.IDLE_BEATS);
    assertThat(due(false, 10)).isEqualTo(10);
  }

  @Test
  void replicasOfTheLastPod_areFree_beforeReadingSlowsDown() {
    var held = new HeldReplicas();
    held.update(HELD, true, Map.of(), 0);
    pace.listed(true);
    long nowMs = 0;
    while (pace.beat(true)) {
      nowMs += ReadBack.BEAT_MS;
      held.update(List.of(), true, Map.of(), nowMs);
      pace.listed(false);
    }
    assertThat(held.all()).isEmpty();
  }
}
