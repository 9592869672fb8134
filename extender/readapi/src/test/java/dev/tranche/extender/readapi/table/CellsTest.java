package dev.tranche.extender.readapi.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.row.GpuQuantity;
import dev.tranche.extender.readapi.row.MemoryQuantity;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class CellsTest {
  private static final Instant NOW = Instant.parse("2026-11-23T20:00:00Z");

  @ParameterizedTest
  @CsvSource({
    "0, 0s",
    "119, 119s",
    "120, 2m",
    "185, 3m5s",
    "600, 10m",
    "10799, 179m",
    "10800, 3h",
    "28799, 7h59m",
    "172799, 47h",
    "172800, 2d",
    "180000, 2d2h",
    "777600, 9d",
    "-5, 0s",
  })
  void ages_areWrittenAsKubectlDoes(long seconds, String written) {
    assertThat(Cells.age(NOW.minusSeconds(seconds), NOW)).isEqualTo(written);
  }

  @ParameterizedTest
  @CsvSource({"300, 0.3", "2000, 2", "1150, 1.15", "0, 0", "1000, 1"})
  void gpus_areNumbers(long milli, String written) {
    assertThat(Cells.gpus(new GpuQuantity(milli))).isEqualTo(written);
  }

  @ParameterizedTest
  @CsvSource({
    "16911433728, 15.8Gi",
    "5073430116, 4.7Gi",
    "0, 0.0Gi",
    "2199023255552, 2048.0Gi",
    "1024, 0.0Gi"
  })
  void memory_isInGib(long bytes, String written) {
    assertThat(Cells.memory(new MemoryQuantity(bytes))).isEqualTo(written);
  }

  @Test
  void whatIsMissing_isUnknown_andNoHealthyZero() {
    assertThat(Cells.percent((GpuQuantity) null)).isEqualTo("<unknown>");
    assertThat(Cells.memory(null)).isEqualTo("<unknown>");
    assertThat(Cells.gpus((GpuQuantity) null)).isEqualTo("<unknown>");
    assertThat(Cells.age(null, NOW)).isEqualTo("<unknown>");
  }
}
