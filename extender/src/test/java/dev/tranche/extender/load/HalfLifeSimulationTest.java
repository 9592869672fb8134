package dev.tranche.extender.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.HalfLifeSimulation.HalfLives;
import dev.tranche.extender.load.HalfLifeSimulation.Use;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Whether pods are better placed by means than by the last reading alone. {@code
 * -Dtranche.half-lives=0:0,10:20 -Dtranche.seeds=8} prints the loss by half-lives, in seconds, of
 * the GPU's mean and the pod's.
 */
@Tag("search")
final class HalfLifeSimulationTest {
  private static final HalfLives LAST_READING = new HalfLives(0, 0);
  private static final HalfLives OURS = new HalfLives(10, Timing.DEFAULT.halfLifeMs() / 1e3);

  /** Two lists of pods that come to the same differ by as much. */
  private static final double ALIKE = 0.015;

  @Test
  void means_loseFarLessThanTheLastReading_whereUseComesInBursts() {
    double last = HalfLifeSimulation.lostRatio(Use.BURSTS_OF_SECONDS, LAST_READING, 1);
    double ours = HalfLifeSimulation.lostRatio(Use.BURSTS_OF_SECONDS, OURS, 1);
    assertThat(ours).isLessThan(0.66 * last);
  }

  @Test
  void means_loseNoMoreThanTheLastReading_whereUseIsSteady() {
    double last = HalfLifeSimulation.lostRatio(Use.STEADY, LAST_READING, 1);
    double ours = HalfLifeSimulation.lostRatio(Use.STEADY, OURS, 1);
    assertThat(ours).isLessThan(last + ALIKE).isLessThan(0.03);
  }

  @ParameterizedTest
  @EnumSource
  @EnabledIfSystemProperty(named = "tranche.half-lives", matches = ".+")
  void lossByHalfLives(Use use) {
    int seeds = Integer.getInteger("tranche.seeds", 5);
    for (String pair : System.getProperty("tranche.half-lives", "").split(",", -1)) {
      String[] both = pair.split(":", -1);
      var halfLives = new HalfLives(Double.parseDouble(both[0]), Double.parseDouble(both[1]));
      double[] lost =
          LongStream.rangeClosed(1, seeds)
              .mapToDouble(seed -> HalfLifeSimulation.lostRatio(use, halfLives, seed))
              .sorted()
              .toArray();
      System.out.println(line(use, halfLives, lost));
      assertThat(lost[0]).isBetween(0.0, 1.0);
    }
  }

  private static String line(Use use, HalfLives halfLives, double[] lost) {
    return String.format(
        Locale.ROOT,
        "%s, half-lives: %s: lost %.2f %% (%.2f to %.2f), mean %.2f %%",
        use,
        halfLives,
        50 * (lost[lost.length / 2] + lost[(lost.length - 1) / 2]),
        100 * lost[0],
        100 * lost[lost.length - 1],
        100 * Arrays.stream(lost).average().orElse(0));
  }
}
