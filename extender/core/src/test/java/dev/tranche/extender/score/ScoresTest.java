package dev.tranche.extender.score;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.TestGpu;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ScoresTest {
  @Test
  void load_isInProportionToHeadroom() {
    assertThat(headroom(Policy.LOAD, 10, 1, 0, true)).isEqualTo(10);
    assertThat(headroom(Policy.LOAD, 10, 1, 0.9, true)).isEqualTo(4);
    assertThat(headroom(Policy.LOAD, 10, 0.1, 0, true)).isEqualTo(7);
  }

  @Test
  void load_equalNodes_scoreAlike() {
    assertThat(headroom(Policy.LOAD, 10, 1, 0.2, true)).isEqualTo(9);
    assertThat(headroom(Policy.LOAD, 3, 1, 0.2, true)).isEqualTo(9);
  }

  @Test
  void load_unmeasured_isNeitherBestNorWorst() {
    assertThat(headroom(Policy.LOAD, 10, 1, 0, false))
        .isLessThan(headroom(Policy.LOAD, 10, 1, 0, true))
        .isGreaterThan(headroom(Policy.LOAD, 10, 1, 1, true));
  }

  @Test
  void spread_prefersTheEmptiest() {
    assertThat(headroom(Policy.SPREAD, 10, 1, 0, true)).isEqualTo(10);
    assertThat(headroom(Policy.SPREAD, 4, 1, 0, true)).isEqualTo(4);
  }

  @Test
  void packed_isOfNoNodeAlone() {
    assertThat(headroom(Policy.PACKED, 10, 1, 0, true)).isZero();
  }

  @Test
  void winner_ofNone_isNobody() {
    assertThat(Scores.winner(new int[0])).isEqualTo(-1);
    assertThat(Scores.winner(new int[] {3, 7, 7})).isEqualTo(1);
  }

  private static int headroom(
      Policy policy, int free, double memoryFree, double sm, boolean measured) {
    var gpu =
        new TestGpu("gpu")
            .free(free)
            .memory(1_000, (long) (memoryFree * 1_000))
            .measured(measured)
            .load(sm)
            .view();
    var container = new Placement.Container("main", List.of(new Placement.Share("gpu", 3)));
    return Scores.of(policy, List.of(gpu), Placement.of(List.of(container))).headroom();
  }
}
