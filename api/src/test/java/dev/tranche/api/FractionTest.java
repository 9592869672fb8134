package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Fraction.Parsed.Malformed;
import dev.tranche.api.Fraction.Parsed.Valid;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FractionTest {
  @ParameterizedTest
  @CsvSource({
    "0.3, 10, 3",
    "0.30, 10, 3",
    "30%, 10, 3",
    "3/10, 10, 3",
    ".5, 10, 5",
    "1/3, 10, 4",
    "0.05, 10, 1",
    "12.5%, 8, 1",
    "1, 10, 10",
    "1.0, 10, 10",
    "100%, 10, 10",
    "2, 10, 20",
    "0.000000001, 100, 1",
    "0.3333333333333333, 3, 1",
    "0.6666666666666666, 3, 2",
    "0.3333333333333333, 10000, 3334",
    "0.30000000000000004, 10, 3",
    "0.7999999999999999, 10, 8",
    "0.0000000001, 10, 1",
    "33.33333333333333%, 3, 1",
    "99.9999999999999999%, 10000, 10000",
    "1.0000000000000000, 10, 10",
    "999999999/999999999, 10000, 10000",
    "1024, 10000, 10240000",
  })
  void replicas_areTheShareRoundedUp(String text, int replicasPerGpu, int replicas) {
    assertThat(valid(text).replicas(replicasPerGpu)).isEqualTo(replicas);
  }

  @Test
  void replicas_ofEveryTenth_areExact() {
    for (int tenths = 1; tenths <= 10; tenths++) {
      GpuPart fraction = valid(tenths == 10 ? "1" : "0." + tenths);
      assertThat(fraction.replicas(10)).isEqualTo(tenths);
      assertThat(fraction.exactIn(10)).isTrue();
    }
  }

  @Test
  void exactIn_isFalse_whereTheShareIsRoundedUp() {
    assertThat(valid("1/3").exactIn(10)).isFalse();
    assertThat(valid("1/3").exactIn(9)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        ".",
        "%",
        "0",
        "0.0",
        "0%",
        "-1",
        "-0.5",
        "1.5",
        "150%",
        "3/2",
        "1/0",
        "0/3",
        "NaN",
        "1e-1",
        "0,3",
        "half",
        "2000",
        "0.3 GPU",
        "+0.3",
        "0x1",
        "٣",
        "0.0000000000001",
        "1.000000000001",
        "999999.999999999999%",
        "0.30000000000000000000000000000000001",
        "5.",
        "1.2.3",
        "0.3f",
        "11111111111111111111111111111111111111111"
      })
  void parse_refuses_withTheTextAndWhatIsAllowed(String text) {
    assertThat(Fraction.parse(text)).isInstanceOf(Malformed.class);
    String reason = ((Malformed) Fraction.parse(text)).reason();
    assertThat(reason).contains("\"0.3\"").contains("1/3").contains("30%");
    assertThat(reason).hasSizeLessThan(250);
  }

  @ParameterizedTest
  @CsvSource({
    "1, 100, 10, 1",
    "10, 100, 10, 1",
    "11, 100, 10, 2",
    "100, 100, 10, 10",
    "9223372036854775807, 9223372036854775807, 10000, 10000",
    "9223372036854775806, 9223372036854775807, 10000, 10000",
    "34, 100, 3, 2",
  })
  void replicasOfMemory_areTheShareRoundedUp(
      long memory, long usable, int replicasPerGpu, int replicas) {
    assertThat(GpuPart.of(memory, usable).replicas(replicasPerGpu)).isEqualTo(replicas);
  }

  private static GpuPart valid(String text) {
    return ((Valid) Fraction.parse(text)).share();
  }

  @ParameterizedTest
  @ValueSource(strings = {"2000", "9999999", "99999999999999999999.5", "1000000%"})
  void moreGpusThanAnyNodeHas_areToldFromWhatIsNoNumber(String text) {
    assertThat(((Malformed) Fraction.parse(text)).reason())
        .startsWith("\"" + text + "\" is more GPUs than any node has; ");
  }
}
