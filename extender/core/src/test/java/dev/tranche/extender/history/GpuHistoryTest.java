package dev.tranche.extender.history;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.history.GpuHistory.Found;
import dev.tranche.extender.history.GpuHistory.Gpu;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class GpuHistoryTest {
  private static final long GIB = 1L << 30;
  private static final long STEP = GpuHistory.STEP_MS;
  private static final long WINDOW = GpuHistory.WINDOW_MS;
  private static final long PLENTY = 16 << 20;
  private static final double NONE = Double.NaN;

  /** A monotonic clock may begin anywhere, below zero too. */
  private static final long START = -17 * STEP;

  private final GpuHistory history = new GpuHistory(PLENTY);

  private static GpuSample sample(String node, int index, double sm) {
    long memoryUsedBytes = Double.isNaN(sm) ? -1 : (index + 1) * GIB;
    return new GpuSample(node, node + index, index, sm, memoryUsedBytes, 0.3);
  }

  private static List<GpuSample> cluster(int gpus, double sm) {
    return IntStream.range(0, gpus).mapToObj(i -> sample("n" + i / 8, i % 8, sm)).toList();
  }

  private static Found all(GpuHistory history, String node, long nowMs) {
    return history.find(node, uuid -> true, WINDOW, nowMs).orElseThrow();
  }

  private Gpu only(long nowMs) {
    List<Gpu> gpus = all(history, "n", nowMs).gpus();
    assertThat(gpus).hasSize(1);
    return gpus.getFirst();
  }

  private void add(int step, GpuSample... samples) {
    history.add(List.of(samples), START + step * STEP + STEP / 2);
  }

  @Test
  void samples_areFoundAtTheirTimes() {
    add(0, sample("n", 0, 0.25));
    add(1, sample("n", 0, 0.505));
    Found found = all(history, "n", START + 2 * STEP);
    assertThat(found.stepMs()).isEqualTo(STEP);
    assertThat(found.timesMs()).containsExactly(START + STEP / 2, START + STEP + STEP / 2);
    Gpu gpu = found.gpus().getFirst();
    assertThat(gpu.smMean()).containsExactly(0.25, 0.505);
    assertThat(gpu.smMax()).containsExactly(0.25, 0.505);
    assertThat(gpu.memoryUsedBytes()).containsExactly(GIB, GIB);
    assertThat(gpu.granted()).containsExactly(0.3, 0.3);
  }

  @Test
  void gpuWithoutAReading_hasAGap_andItsGrants() {
    add(0, sample("n", 0, 0));
    add(1, sample("n", 0, NONE));
    Gpu gpu = only(START + 2 * STEP);
    assertThat(gpu.smMean()).containsExactly(0.0, NONE);
    assertThat(gpu.smMax()).containsExactly(0.0, NONE);
    assertThat(gpu.memoryUsedBytes()).containsExactly(GIB, -1L);
    assertThat(gpu.granted()).containsExactly(0.3, 0.3);
  }

  @Test
  void stepsWithoutASample_areGaps() {
    add(0, sample("n", 0, 0.5));
    add(3, sample("n", 0, 0.5));
    assertThat(only(START + 4 * STEP).smMean()).containsExactly(0.5, NONE, NONE, 0.5);
    // The step of now may get its sample yet.
    assertThat(only(START + 6 * STEP).granted()).endsWith(0.3, NONE, NONE).hasSize(6);
  }

  /** The ring still has the samples of one round before. */
  @Test
  void gapLongerThanTheWindow_showsNothingOld() {
    for (int step = 0; step < 2_160; step++) {
      add(step, sample("n", 0, 0.9), sample("n", 1, 0.9));
    }
    add(2_160 + 2_000, sample("n", 0, 0.1));
    Found found = all(history, "n", START + 4_161 * STEP);
    assertThat(found.gpus().getFirst().smMax()).contains(0.9).endsWith(0.1);
    add(2_160 + 2_000 + 2_200, sample("n", 0, 0.2));
    assertThat(only(START + 6_361 * STEP).smMean()).containsExactly(0.2);
  }

  @Test
  void gpuThatIsGone_isKeptUntilItsLastSampleIsOld() {
    add(0, sample("n", 0, 0.5), sample("n", 1, 0.5));
    add(1, sample("n", 0, 0.5));
    long one = history.bytes() / 2;
    assertThat(history.find("n", "n1"::equals, WINDOW, START + 2 * STEP)).isPresent();
    add(2_161, sample("n", 0, 0.5));
    assertThat(history.find("n", "n1"::equals, WINDOW, START + 2_162 * STEP)).isEmpty();
    assertThat(history.bytes()).isEqualTo(one);
  }

  @Test
  void gpuThatComesBack_hasAGapBetween() {
    add(0, sample("n", 0, 0.5));
    add(1, sample("m", 0, 0.5));
    add(2, sample("n", 0, 0.7));
    assertThat(only(START + 3 * STEP).granted()).containsExactly(0.3, NONE, 0.3);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8, 600, 3_000, 20_000})
  void budget_isNeverPassed_andTheWindowStays(int gpus) {
    var tight = new GpuHistory(4 << 20);
    long now = START + STEP / 2;
    for (int count = 1; count < gpus * 2; count *= 2) {
      tight.add(cluster(Math.min(count, gpus), 0.5), now);
      assertThat(tight.bytes()).isPositive().isLessThanOrEqualTo(4 << 20);
      now += tight.nextInMs(now);
    }
    long step = tight.stepMs();
    assertThat(step).isEqualTo(gpus < 300 ? STEP : gpus == 600 ? 2 * STEP : step);
    assertThat(tight.leftOut() > 0).isEqualTo(gpus == 20_000);
    for (int i = 0; i < WINDOW / step; i++) {
      now += tight.nextInMs(now);
      tight.add(cluster(gpus, 0.5), now);
    }
    Found found = all(tight, "n0", now);
    long covered = found.timesMs().size() * found.stepMs();
    assertThat(covered).isBetween(WINDOW - 2 * found.stepMs(), WINDOW + 2 * found.stepMs());
    assertThat(found.gpus().getFirst().smMean()).doesNotContain(NONE).contains(0.5);
  }

  @Test
  void doublingTheStep_joinsPairs_andKeepsTheHighest() {
    var tight = new GpuHistory(16 << 10);
    double[] loads = {0.2, 0.4, NONE, 0.8, NONE, NONE, 0.1, 0.3};
    for (int i = 0; i < loads.length; i++) {
      // START is an odd number of steps, so that pairs begin one later.
      tight.add(List.of(sample("n", 0, loads[i])), START + (i + 1) * STEP + STEP / 2);
    }
    long now = START + 9 * STEP + STEP / 2;
    tight.add(List.of(sample("n", 0, 0.5), sample("n", 1, 0.5)), now);
    assertThat(tight.stepMs()).isEqualTo(2 * STEP);
    Gpu gpu = all(tight, "n", now).gpus().getFirst();
    assertThat(gpu.smMean()).containsExactly(0.3, 0.8, NONE, 0.2, 0.5);
    assertThat(gpu.smMax()).containsExactly(0.4, 0.8, NONE, 0.3, 0.5);
    assertThat(gpu.memoryUsedBytes()).containsExactly(GIB, GIB, -1L, GIB, GIB);
  }

  /** A node that names other GPUs in each report takes no room from those that are there. */
  @Test
  void gpusThatAreGone_areForgottenBeforeTheStepDoubles() {
    int here = 1_000;
    for (int i = 0; i < 500; i++) {
      var samples = new ArrayList<>(cluster(here, 0.5));
      samples.add(new GpuSample("hostile", "uuid-" + i, 0, 0.5, GIB, 0.1));
      history.add(samples, START + i * STEP);
    }
    assertThat(history.stepMs()).isEqualTo(STEP);
    assertThat(all(history, "n0", START + 500 * STEP).gpus()).hasSize(8);
  }

  @Test
  void secondSampleOfAStep_joinsTheFirst_andAnEarlierOneIsNotTaken() {
    add(1, sample("n", 0, 0.2));
    add(1, sample("n", 0, 0.6));
    add(0, sample("n", 0, 0.9));
    Gpu gpu = only(START + 2 * STEP);
    assertThat(gpu.smMean()).containsExactly(0.4);
    assertThat(gpu.smMax()).containsExactly(0.6);
  }

  @Test
  void nextSample_isDueInTheMiddleOfTheNextStep() {
    assertThat(history.nextInMs(START)).isEqualTo(STEP + STEP / 2);
    assertThat(history.nextInMs(START + STEP - 1)).isEqualTo(STEP / 2 + 1);
    assertThat(history.nextInMs(START + STEP / 2)).isEqualTo(STEP);
  }

  @Test
  void since_leavesOutWhatIsOlder() {
    for (int step = 0; step < 100; step++) {
      add(step, sample("n", 0, 0.5), sample("n", 1, 0.5));
    }
    add(100, sample("n", 0, 0.5));
    long now = START + 101 * STEP;
    Found found = history.find("n", "n0"::equals, 10 * STEP, now).orElseThrow();
    assertThat(found.timesMs()).hasSize(10).allMatch(at -> at >= now - 10 * STEP);
    assertThat(history.find("n", "n1"::equals, STEP, now).orElseThrow().gpus()).isEmpty();
  }

  @Test
  void answers_areBounded() {
    for (int step = 0; step < 2_160; step++) {
      List<GpuSample> samples =
          IntStream.range(0, 60)
              .mapToObj(i -> new GpuSample("n", "u" + i, i, 0.5, GIB, 1))
              .toList();
      history.add(samples, START + step * STEP + STEP / 2);
    }
    long now = START + 2_160 * STEP;
    Found one = history.find("n", "u7"::equals, WINDOW, now).orElseThrow();
    assertThat(one.timesMs()).hasSizeBetween(500, GpuHistory.POINTS_MAX);
    assertThat(one.gpus().getFirst().smMean()).hasSameSizeAs(one.timesMs()).containsOnly(0.5);
    Found many = all(history, "n", now);
    assertThat(many.gpus()).extracting(Gpu::index).isSorted().hasSize(60);
    assertThat(many.timesMs().size() * 60).isBetween(5_000, GpuHistory.ANSWER_POINTS_MAX);
  }

  @Test
  void memoryBeyondWhatFits_isTheLargestThatDoes() {
    history.add(List.of(new GpuSample("n", "u", 0, 2, 1L << 50, 1)), START);
    Gpu gpu = only(START);
    assertThat(gpu.memoryUsedBytes().getFirst()).isGreaterThan(900L << 30);
    assertThat(gpu.smMean()).containsExactly(1.0);
  }
}
