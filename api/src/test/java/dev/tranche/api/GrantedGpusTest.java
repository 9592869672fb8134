package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GrantedGpusTest {
  @ParameterizedTest
  @CsvSource({"0, 1, 1, true", "0, 1, 1.1, false", "7, 1, 0.3, true", "8, 1, 0.3, false"})
  void whatIsWritten_isReadAgain(int tenths, int gpus, double needed, boolean leaves) {
    var written = new GrantedGpus(tenths, gpus);
    GrantedGpus read = GrantedGpus.read(written + ", 14 GiB memory, as of now").orElseThrow();
    assertThat(read).isEqualTo(written);
    assertThat(read.leaves(needed)).isEqualTo(leaves);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0.5 of 2 GPUs granted", "all free", "12345678.0 of 1 GPUs granted,"})
  void otherText_isNotRead(String annotation) {
    assertThat(GrantedGpus.read(annotation)).isEmpty();
  }

  @Test
  void longText_isNotRead() {
    assertThat(GrantedGpus.read("0.5 of 2 GPUs granted, " + "x".repeat(300))).isEmpty();
  }
}
