package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QuantityTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "3, 3",
    "+3, 3",
    "10k, 10000",
    "1.5Ki, 1536",
    "4Gi, 4294967296",
    "100m, 1",
    "1n, 1",
    "2000m, 2",
    "12e3, 12000",
    "1E, 1000000000000000000",
    "1E2, 100",
    "5e-1, 1"
  })
  void parse_readsWhatKubernetesWrites(String text, long value) {
    assertThat(Quantity.parse(text)).hasValue(value);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-1", "Gi", "4 Gi", "4GiB", "1e99", "99E", "0x10", "1_000"})
  void parse_refusesTheRest(String text) {
    assertThat(Quantity.parse(text)).isEmpty();
  }
}
