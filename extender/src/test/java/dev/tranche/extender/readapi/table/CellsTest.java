package dev.tranche.extender.readapi.table;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
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
    assertThat(Cells.age(NOW.minusSeconds(seconds).toString(), NOW)).isEqualTo(written);
  }

  @ParameterizedTest
  @CsvSource({"300m, 0.3", "2, 2", "1150m, 1.15", "0, 0", "1000m, 1"})
  void gpus_areNumbers(String quantity, String written) {
    assertThat(Cells.gpus(new JsonObject().put("gpus", quantity), "gpus")).isEqualTo(written);
  }

  @ParameterizedTest
  @CsvSource({"16128Mi, 15.8Gi", "5073430116, 4.7Gi", "0, 0.0Gi", "2Ti, 2048.0Gi", "1Ki, 0.0Gi"})
  void memory_isInGib(String quantity, String written) {
    assertThat(Cells.memory(new JsonObject().put("memory", quantity), "memory")).isEqualTo(written);
  }

  @Test
  void whatIsMissing_isUnknown_andNoHealthyZero() {
    var empty = new JsonObject();
    assertThat(Cells.percent(empty, "measured", "sm")).isEqualTo("<unknown>");
    assertThat(Cells.memory(empty, "measured", "memory")).isEqualTo("<unknown>");
    assertThat(Cells.gpus(empty, "granted", "gpus")).isEqualTo("<unknown>");
    assertThat(Cells.age(null, NOW)).isEqualTo("<unknown>");
  }
}
