package dev.tranche.extender.score;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TopKTest {
  private static final int[] SCORES = {3, 9, 3, 5, 9, 3};

  @Test
  void few_areTheHighest_highestFirst() {
    assertThat(TopK.of(SCORES, 3, 0)).containsExactly(1, 4, 3);
  }

  @Test
  void equals_takeTurns() {
    assertThat(TopK.of(SCORES, 4, 0)).containsExactly(1, 4, 3, 0);
    assertThat(TopK.of(SCORES, 4, 1)).containsExactly(1, 4, 3, 2);
    assertThat(TopK.of(SCORES, 1, 2)).containsExactly(4);
  }

  @Test
  void more_thanThereAre_isAll() {
    assertThat(TopK.of(SCORES, 9, 0)).hasSize(6);
    assertThat(TopK.of(new int[0], 9, 0)).isEmpty();
  }
}
