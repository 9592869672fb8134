package dev.tranche.extender.placement;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GpuViewTest {
  private static GpuView view(long usableBytes, long freeBytes, long unattributedBytes, double sm) {
    return new TestGpu("GPU-0")
        .memory(usableBytes, freeBytes)
        .unattributed(unattributedBytes)
        .load(sm)
        .view();
  }

  /** With 10,000 usable bytes, 50 may be missing, and 150 more that no known pod uses. */
  @ParameterizedTest
  @CsvSource({
    "10000, 10000, 0, 10",
    "10000, 9950, 0, 10",
    "10000, 9949, 0, 9",
    "10000, 9800, 150, 10",
    "10000, 9800, 149, 9",
    "10000, 9000, 1000, 9",
    "10000, -5000, 0, 0",
    "10000, 20000, 0, 10",
    "0, 0, 0, 10",
  })
  void replicas_areThoseThatTheFreeMemoryBacks(
      long usableBytes, long freeBytes, long unattributedBytes, int replicas) {
    assertThat(view(usableBytes, freeBytes, unattributedBytes, 0).replicasByMemory())
        .isEqualTo(replicas);
  }

  @ParameterizedTest
  @CsvSource({"1000, 250, 0.25", "1000, -1, 0", "1000, 2000, 1", "0, 0, 0"})
  void memoryHeadroom_isAPartOfTheUsableMemory(long usableBytes, long freeBytes, double headroom) {
    assertThat(view(usableBytes, freeBytes, 0, 0).memoryHeadroom()).isEqualTo(headroom);
  }

  @ParameterizedTest
  @CsvSource({"0.25, 0.75", "1.5, 0", "-0.1, 1"})
  void smHeadroom_isWhatTheLoadLeaves(double load, double headroom) {
    assertThat(view(1_000, 1_000, 0, load).smHeadroom()).isEqualTo(headroom);
  }

  @Test
  void grantedBytes_areTheSharesPart() {
    assertThat(view(1_000, 1_000, 0, 0).grantedBytes(3)).isEqualTo(300);
  }
}
