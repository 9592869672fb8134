package dev.tranche.extender.score;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.placement.Placement;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ScoresTest {
  @Test
  void load_isInProportionToHeadroom() {
    assertThat(
            Scores.of(
                Policy.LOAD, List.of(node("idle", 10, 1, 0, true), node("busy", 10, 1, 0.9, true))))
        .containsExactly(10, 4);
    assertThat(
            Scores.of(
                Policy.LOAD,
                List.of(node("roomy", 10, 1, 0, true), node("full", 10, 0.1, 0, true))))
        .containsExactly(10, 7);
  }

  @Test
  void load_equalNodes_scoreAlike() {
    assertThat(
            Scores.of(
                Policy.LOAD, List.of(node("a", 10, 1, 0.2, true), node("b", 3, 1, 0.2, true))))
        .containsExactly(9, 9);
  }

  @Test
  void load_unmeasured_isNeitherBestNorWorst() {
    int[] scores =
        Scores.of(
            Policy.LOAD,
            List.of(
                node("idle", 10, 1, 0, true),
                node("silent", 10, 1, 0, false),
                node("busy", 10, 1, 1, true)));
    assertThat(scores[1]).isLessThan(scores[0]).isGreaterThan(scores[2]);
  }

  @Test
  void spread_prefersTheEmptiest() {
    assertThat(
            Scores.of(Policy.SPREAD, List.of(node("a", 10, 1, 0, true), node("b", 4, 1, 0, true))))
        .containsExactly(10, 4);
  }

  @Test
  void winner_ofNone_isNobody() {
    assertThat(Scores.winner(new int[0])).isEqualTo(-1);
    assertThat(Scores.winner(new int[] {3, 7, 7})).isEqualTo(1);
  }

  private static Scores.Candidate node(
      String name, int free, double memoryFree, double sm, boolean measured) {
    var gpu = Gpus.gpu("gpu", 0, free, memoryFree, sm, measured);
    var share = new Placement.Share("gpu", 3);
    var container = new Placement.Container("main", List.of(share));
    return new Scores.Candidate(name, List.of(gpu), Placement.of(List.of(container)));
  }
}
