package dev.tranche.extender.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** What one pod uses of a GPU, where the reading does not name it. */
final class LoadReadingTest {
  private static final long GIB = 1L << 30;

  @Test
  void podThatIsNotNamed_usesNothing_whereNothingIsLeft() {
    var others = Readings.of(4 * GIB, 0.4, 1, 0, Map.of("ns/q", 4 * GIB), Map.of("ns/q", 0.4));
    assertThat(others.smOf("ns/q")).isEqualTo(0.4);
    assertThat(others.smOf("ns/p")).isZero();
    assertThat(others.memoryBytesOf("ns/q")).isEqualTo(4 * GIB);
    assertThat(others.memoryBytesOf("ns/p")).isZero();
    var idle = Readings.of(0, 0, 0, 0);
    assertThat(idle.smOf("ns/p")).isZero();
    assertThat(idle.memoryBytesOf("ns/p")).isZero();
  }

  /** Under MPS the server is named, which is no pod. */
  @Test
  void podThatIsNotNamed_mayUseWhatIsNobodys() {
    var unattributed = Readings.of(4 * GIB, 0.4, 1, 0, Map.of(), Map.of(LoadReading.OTHERS, 0.4));
    assertThat(unattributed.smOf("ns/p")).isNull();
    assertThat(unattributed.memoryBytesOf("ns/p")).isNull();
    var untold = Readings.of(4 * GIB, 0.4, 1, 0);
    assertThat(untold.smOf("ns/p")).isNull();
    assertThat(untold.memoryBytesOf("ns/p")).isNull();
  }
}
