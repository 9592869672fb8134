package dev.tranche.process.listen;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class GzipTest {
  @ParameterizedTest
  @CsvSource(
      nullValues = "none",
      delimiter = '|',
      value = {
        "gzip | true",
        "deflate, GZIP;q=0.5 | true",
        "br, gzip | true",
        "gzip;q=0 | false",
        "gzip; q=0.000 | false",
        "identity | false",
        "xgzip | false",
        "none | false"
      })
  void packedIsAnswered_whereItIsAskedFor(String header, boolean packed) {
    assertThat(Gzip.accepted(header)).isEqualTo(packed);
  }
}
