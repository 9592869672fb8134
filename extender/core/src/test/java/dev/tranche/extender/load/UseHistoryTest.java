package dev.tranche.extender.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

final class UseHistoryTest {
  private static final Offset<Double> NEAR = Offset.offset(0.06);

  private final UseHistory history = new UseHistory();

  @Test
  void guess_isWhatIsKnownAtFirst() {
    assertThat(history.odds()).isSameAs(UsageDistribution.GUESS);
  }

  @Test
  void podsThatUseWhatTheyAskFor_soonSaySo() {
    for (int i = 0; i < 400; i++) {
      history.add(0.2, 0.2, 1);
    }
    assertThat(odds(0.9, 1.1)).isGreaterThan(0.9);
    assertThat(odds(0, 100)).isCloseTo(1, NEAR);
  }

  @Test
  void podThatUsesAllOfAGpu_isTakenForOneOfThoseWhoWouldDoSo() {
    for (int i = 0; i < 300; i++) {
      history.add(0.1, 0.1, 1);
      history.add(0.5, 0.1, 1);
      history.add(1, 0.5, 1);
    }
    // Nobody is known to want just twice what it asks for.
    assertThat(odds(4, 6)).isGreaterThan(0.55);
    assertThat(odds(1.5, 3)).isLessThan(0.1);
  }

  @Test
  void whatIsLongGone_isForgotten() {
    for (int i = 0; i < 2_000; i++) {
      history.add(0.02, 0.2, 1);
    }
    assertThat(odds(0, 0.3)).isGreaterThan(0.9);
    for (int i = 0; i < 4_000; i++) {
      history.add(0.4, 0.2, 1);
    }
    assertThat(odds(1.5, 2.5)).isGreaterThan(0.9);
  }

  @Test
  void oneMorePod_changesNothingThatOthersAreTold() {
    for (int i = 0; i < 300; i++) {
      history.add(0.2, 0.2, 1);
    }
    UsageDistribution before = history.odds();
    history.add(0.02, 0.2, 1);
    assertThat(history.odds()).isSameAs(before);
  }

  private double odds(double from, double to) {
    return history.odds().parts().stream()
        .filter(part -> part.times() >= from && part.times() < to)
        .mapToDouble(UsageDistribution.Part::odds)
        .sum();
  }
}
