package dev.tranche.extender.score.packing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.AllowList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PackerTest {
  private static final int[] EIGHT = {1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000};
  private final Packer packer = new Packer();

  private static Shape shape(long cpuMilli, int count, int milli) {
    return new Shape(cpuMilli, 1_024, count, milli, AllowList.ANY);
  }

  private static FreeCapacity capacity(long cpuMilli, int... gpuMilli) {
    return new FreeCapacity("Tesla T4", cpuMilli, 1 << 20, gpuMilli);
  }

  private void learn(Shape shape, int times) {
    for (int i = 0; i < times; i++) {
      packer.learn(shape + "-" + i, shape);
    }
  }

  @Test
  void choose_takesTheGpuThatItFills() {
    learn(shape(1_000, 1, 500), 100);
    assertThat(packer.choose(shape(1_000, 1, 500), List.of(capacity(64_000, 500, 1_000, 1_000))))
        .contains(new Packer.Choice(0, 500));
  }

  @Test
  void cheapest_withMoreNodesThanAreEvaluated_isWhereThereAreNoGpus() {
    learn(shape(8_000, 1, 1_000), 100);
    var capacities = new ArrayList<FreeCapacity>();
    for (int i = 0; i < 2 * Packer.FRESH_MAX; i++) {
      capacities.add(capacity(64_000 + i, 1_000, 1_000));
    }
    capacities.add(capacity(64_000));
    assertThat(packer.cheapest(Shape.withoutGpu(4_000, 1_024), capacities))
        .containsExactly(2 * Packer.FRESH_MAX);
  }

  /** Its pods may be known before the node is. */
  @Test
  void choose_onANodeWithLessThanNoCpu_isNoError() {
    assertThat(packer.choose(shape(1_000, 1, 500), List.of(capacity(-100, EIGHT)))).isPresent();
  }

  @Test
  void leftover_isOfTheLastGpuThatThePodNeeds() {
    assertThat(capacity(1, 500, 600, 1_000).leftover(shape(1, 2, 500))).isEqualTo(100);
    assertThat(capacity(1, 300, 600).leftover(shape(1, 1, 500))).isEqualTo(100);
    assertThat(capacity(1, 300, 600).leftover(shape(1, 2, 500))).isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void choose_leavesWhatTheNextPodsNeed() {
    learn(shape(1_000, 1, 700), 100);
    // Best fit would take the 700, and leave 400 and 300, which serve nobody.
    assertThat(packer.choose(shape(1_000, 1, 300), List.of(capacity(64_000, 700, 1_000))))
        .contains(new Packer.Choice(0, 1_000));
  }

  @Test
  void choose_sparesNodesWhoseCpuIsScarce() {
    learn(shape(8_000, 1, 1_000), 100);
    assertThat(
            packer.choose(
                shape(32_000, 1, 1_000),
                List.of(
                    capacity(64_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000),
                    capacity(104_000, 1_000, 1_000))))
        .contains(new Packer.Choice(1, 1_000));
  }

  @Test
  void choose_keepsTheLastRoomForALargePod() {
    learn(shape(1_000, 1, 1_000), 2_000);
    learn(shape(8_000, 8, 1_000), 4);
    // By leftovers both are the same: every GPU will be used.
    var capacities =
        List.of(capacity(128_000, EIGHT), capacity(128_000, 1_000, 1_000, 1_000, 1_000, 1_000));
    assertThat(packer.choose(shape(1_000, 1, 1_000), capacities))
        .map(Packer.Choice::index)
        .contains(1);
  }

  @Test
  void choose_leavesNodesUnused_whileNoPodThatNeedsThemWasSeen() {
    learn(shape(1_000, 1, 1_000), 2_000);
    // Far more nodes than large pods can be expected; by leftovers all are the same.
    var capacities = new ArrayList<>(Collections.nCopies(30, capacity(128_000, EIGHT)));
    capacities.add(capacity(128_000, 1_000, 1_000, 1_000, 1_000, 1_000));
    assertThat(packer.choose(shape(1_000, 1, 1_000), capacities))
        .map(Packer.Choice::index)
        .contains(30);
  }

  @Test
  void cheapest_beforeAnyPodWasSeen_isWhereCpuIsPlenty() {
    var capacities = List.of(capacity(16_000, 1_000, 1_000), capacity(64_000, 1_000, 1_000));
    assertThat(packer.cheapest(Shape.withoutGpu(8_000, 0), capacities)).containsExactly(1);
  }

  @Test
  void choose_amongMoreNodesThanAreEvaluatedAtOnce_findsTheOneItFills() {
    learn(shape(1_000, 1, 500), 100);
    var capacities = new ArrayList<FreeCapacity>();
    for (int i = 0; i < 2 * Packer.FRESH_MAX; i++) {
      capacities.add(capacity(64_000 + i, 1_000, 1_000));
    }
    capacities.add(capacity(64_000, 500, 1_000));
    assertThat(packer.choose(shape(1_000, 1, 500), capacities))
        .contains(new Packer.Choice(2 * Packer.FRESH_MAX, 500));
  }

  @Test
  void choose_withoutRoom_isNobody() {
    assertThat(packer.choose(shape(1_000, 1, 500), List.of(capacity(64_000, 400, 400)))).isEmpty();
    assertThat(packer.choose(shape(1_000, 2, 500), List.of(capacity(64_000, 400, 500)))).isEmpty();
    assertThat(packer.choose(shape(1_000, 1, 500), List.of())).isEmpty();
  }

  @Test
  void choose_severalGpus_leavesRoomForAsMany() {
    learn(shape(1_000, 2, 600), 100);
    assertThat(
            packer.choose(shape(1_000, 2, 600), List.of(capacity(64_000, 600, 600, 1_000, 1_000))))
        .contains(new Packer.Choice(0, 600));
  }

  @Test
  void holds_countsAPodsSharesOnDifferentGpus() {
    assertThat(capacity(64_000, 500, 1_000, 1_000).fittingPods(shape(1_000, 2, 500))).isEqualTo(2);
    assertThat(capacity(64_000, 100, 1_000).fittingPods(shape(1_000, 2, 500))).isZero();
    assertThat(capacity(1_500, 1_000, 1_000).fittingPods(shape(1_000, 1, 500))).isEqualTo(1);
  }

  @Test
  void cheapest_isWhereNoGpuMissesTheCpu() {
    learn(shape(12_000, 1, 1_000), 100);
    var capacities =
        List.of(
            capacity(12_000, 1_000), capacity(96_000, 1_000), capacity(8_000), capacity(4_000, 0));
    assertThat(packer.cheapest(Shape.withoutGpu(4_000, 0), capacities)).containsExactly(1, 2, 3);
  }

  @Test
  void learn_theSamePodTwice_countsOnce() {
    var shapes = new Shapes();
    assertThat(shapes.count("a", shape(1, 1, 500))).isTrue();
    assertThat(shapes.count("a", shape(1, 1, 500))).isFalse();
    assertThat(shapes.total()).isEqualTo(1);
  }

  @Test
  void learn_moreShapesThanAreKept_forgetsTheRarest() {
    var shapes = new Shapes();
    shapes.count("first", shape(1, 1, 500));
    shapes.count("second", shape(1, 1, 500));
    for (int i = 0; i < 2 * Shapes.SHAPES_MAX; i++) {
      shapes.count("pod-" + i, shape(1_000 + i, 1, 500));
    }
    assertThat(shapes.size()).isEqualTo(Shapes.SHAPES_MAX);
    assertThat(shapes.all()).contains(shape(1, 1, 500));
    assertThat(shapes.total()).isEqualTo(Shapes.SHAPES_MAX + 1);
  }
}
