package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GpuPartTest {
  private static GpuPart sum(GpuPart part, int times) {
    return IntStream.range(0, times).mapToObj(i -> part).reduce(GpuPart.NONE, GpuPart::plus);
  }

  @Test
  void replicasOfDifferentNumbers_addUpAsParts() {
    GpuPart both = GpuPart.of(3, 10).plus(GpuPart.of(1, 3));
    assertThat(both).isEqualTo(GpuPart.of(19, 30)).hasToString("19/30");
    assertThat(both.replicas(3)).isEqualTo(2);
    assertThat(both.replicas(10)).isEqualTo(7);
    assertThat(both.of(60L)).isEqualTo(38);
  }

  @Test
  void sums_areExact_whateverTheNumbersOfReplicas() {
    for (int replicas = 1; replicas <= 1_024; replicas++) {
      GpuPart whole = sum(GpuPart.of(1, replicas), replicas);
      assertThat(whole).isEqualTo(GpuPart.of(1, 1));
      assertThat(whole.exceedsOneGpu()).isFalse();
      assertThat(whole.replicas(replicas)).isEqualTo(replicas);
      assertThat(whole.plus(GpuPart.of(1, 10_000)).exceedsOneGpu()).isTrue();
    }
  }

  @Test
  void primesBelowTheLimitOfANode_doNotOverflow() {
    GpuPart part = GpuPart.NONE;
    for (int prime : new int[] {9_973, 9_967, 9_949, 9_941, 9_931, 9_929}) {
      part = part.plus(GpuPart.of(prime / 7, prime));
    }
    assertThat(part.exceedsOneGpu()).isFalse();
    assertThat(part.replicas(10_000)).isEqualTo(8_569);
    assertThat(part.of(80L << 30)).isBetween(68L << 30, 69L << 30);
  }

  @Test
  void none_isNoReplica() {
    assertThat(GpuPart.NONE.isNone()).isTrue();
    assertThat(GpuPart.NONE.replicas(10)).isZero();
    assertThat(GpuPart.of(0, 7)).isEqualTo(GpuPart.NONE);
  }
}
