package dev.tranche.extender.history;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.history.GpuHistory.Found;
import dev.tranche.extender.history.GpuHistory.Gpu;
import dev.tranche.extender.history.GpuHistory.Sample;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class GpuHistoryTest {
  private static final long GIB = 1L << 30;
  private static final long STEP = GpuHistory.STEP_MS;
  private static final long PLENTY = 16 << 20;
  private static final double NONE = Double.NaN;

  /** A monotonic clock may begin anywhere, below zero too. */
  private static final long START = -17 * STEP;

  private final GpuHistory history = new GpuHistory(PLENTY);

  private static Sample sample(String node, int index, double sm) {
    long memoryUsedBytes = Double.isNaN(sm) ? -1 : (index + 1) * GIB;
    return new Sample(node, node + index, index, sm, memoryUsedBytes, 0.3);
  }

  private static List<Sample> cluster(int gpus, double sm) {
    return IntStream.range(0, gpus).mapToObj(i -> sample("n" + i / 8, i % 8, sm)).toList();
  }

  private static Found all(GpuHistory history, String node, long nowMs) {
    return history.find(node, uuid -> true, nowMs).orElseThrow();
  }

  private Gpu only(long nowMs) {
    List<Gpu> gpus = all(history, "n", nowMs).gpus();
    assertThat(gpus).hasSize(1);
    return gpus.getFirst();
  }

  private void add(int step, Sample... samples) {
    history.add(List.of(samples), START + step * STEP + STEP / 2);
  }

  @Test
  void samples_areFoundAtTheirTimes() {
    add(0, sample("n", 0, 0.25));
    add(1, sample("n", 0, 0.505));
    Found found = all(history, "n", START + 2 * STEP);
    assertThat(found.timesMs()).containsExactly(START + STEP / 2, START + STEP + STEP / 2);
    Gpu gpu = found.gpus().getFirst();
    assertThat(gpu.sm()).containsExactly(0.25, 0.505);
    assertThat(gpu.smMax()).containsExactly(0.25, 0.505);
    assertThat(gpu.memory()).containsExactly(GIB, GIB);
    assertThat(gpu.granted()).containsExactly(0.3, 0.3);
  }

  @Test
  void gpuWithoutAReading_hasAGap_andItsGrants() {
    add(0, sample("n", 0, 0));
    add(1, sample("n", 0, NONE));
    Gpu gpu = only(START + 2 * STEP);
    assertThat(gpu.sm()).containsExactly(0.0, null);
    assertThat(gpu.smMax()).containsExactly(0.0, null);
    assertThat(gpu.memory()).containsExactly(GIB, null);
    assertThat(gpu.granted()).containsExactly(0.3, 0.3);
  }

  @Test
  void stepsWithoutASample_areGaps() {
    add(0, sample("n", 0, 0.5));
    add(3, sample("n", 0, 0.5));
    assertThat(only(START + 4 * STEP).sm()).containsExactly(0.5, null, null, 0.5);
    // The step of now may get its sample yet.
    assertThat(only(START + 6 * STEP).granted()).endsWith(0.3, null, null).hasSize(6);
  }

  /** The ring still has the samples of one round before. */
  @Test
  void gapLongerThanTheWindow_showsNothingOld() {
    for (int step = 0; step < 360; step++) {
      add(step, sample("n", 0, 0.9), sample("n", 1, 0.9));
    }
    add(360 + 300, sample("n", 0, 0.1));
    Found found = all(history, "n", START + 661 * STEP);
    assertThat(found.gpus().getFirst().smMax()).contains(0.9).endsWith(0.1);
    add(360 + 300 + 380, sample("n", 0, 0.2));
    assertThat(only(START + 1_041 * STEP).sm()).containsExactly(0.2);
  }

  @Test
  void gpuThatIsGone_isKeptUntilItsLastSampleIsOld() {
    add(0, sample("n", 0, 0.5), sample("n", 1, 0.5));
    add(1, sample("n", 0, 0.5));
    long one = history.bytes() / 2;
    assertThat(history.find("n", "n1"::equals, START + 2 * STEP)).isPresent();
    add(361, sample("n", 0, 0.5));
    assertThat(history.find("n", "n1"::equals, START + 362 * STEP)).isEmpty();
    assertThat(history.bytes()).isEqualTo(one);
  }

  @Test
  void gpuThatComesBack_hasAGapBetween() {
    add(0, sample("n", 0, 0.5));
    add(1, sample("m", 0, 0.5));
    add(2, sample("n", 0, 0.7));
    assertThat(only(START + 3 * STEP).granted()).containsExactly(0.3, null, 0.3);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 100, 600})
  void budget_isNeverPassed_andTheWindowIsCovered(int gpus) {
    var tight = new GpuHistory(1 << 20);
    for (int step = 0; step < 400; step++) {
      tight.add(cluster(gpus, 0.5), START + step * STEP);
      assertThat(tight.bytes()).isPositive().isLessThanOrEqualTo(1 << 20);
    }
    assertThat(tight.leftOut()).isEqualTo(gpus == 600 ? 600 - (1 << 20) / 2_416 : 0);
    Found found = all(tight, "n0", START + 399 * STEP);
    assertThat(found.timesMs()).hasSize(360);
    assertThat(found.gpus().getFirst().sm()).containsOnly(0.5);
  }

  /** A node that names other GPUs in each report takes no room from those that are there. */
  @Test
  void gpusThatAreGone_areForgottenBeforeOneIsLeftOut() {
    int here = 6_900;
    for (int i = 0; i < 20; i++) {
      var samples = new ArrayList<>(cluster(here, 0.5));
      samples.add(new Sample("hostile", "uuid-" + i, 0, 0.5, GIB, 0.1));
      history.add(samples, START + i * STEP);
      assertThat(history.leftOut()).isZero();
    }
    assertThat(all(history, "n0", START + 20 * STEP).gpus()).hasSize(8);
  }

  @Test
  void samplesOfOneStep_areJoined_andAnEarlierOneIsNotTaken() {
    add(1, sample("n", 0, 0.2));
    add(1, sample("n", 0, 0.6));
    add(1, sample("n", 0, NONE));
    add(1, sample("n", 0, 0.4));
    add(0, sample("n", 0, 0.9));
    Gpu gpu = only(START + 2 * STEP);
    assertThat(gpu.sm()).containsExactly(0.4);
    assertThat(gpu.smMax()).containsExactly(0.6);
    assertThat(gpu.memory()).containsExactly(GIB);
  }

  @Test
  void answers_areBounded() {
    List<Sample> samples =
        IntStream.range(0, 100).mapToObj(i -> new Sample("n", "u" + i, i, 0.5, GIB, 1)).toList();
    add(0, samples.toArray(Sample[]::new));
    add(1, samples.subList(0, 70).toArray(Sample[]::new));
    assertThat(all(history, "n", START + 2 * STEP).gpus())
        .extracting(Gpu::index)
        .isSorted()
        .hasSize(GpuHistory.ANSWER_GPUS_MAX)
        .allMatch(index -> index < 70);
  }

  @Test
  void memoryBeyondWhatFits_isTheLargestThatDoes() {
    history.add(List.of(new Sample("n", "u", 0, 2, 1L << 50, 1)), START);
    Gpu gpu = only(START);
    assertThat(gpu.memory().getFirst()).isGreaterThan(900L << 30);
    assertThat(gpu.sm()).containsExactly(1.0);
  }
}
