package dev.tranche.nodeplugin.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MigProfileTest {
  private static final long MIB = 1L << 20;

  @ParameterizedTest
  @CsvSource({
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb,1g.5gb",
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb+me,1g.5gb+me",
    "NVIDIA H100 MIG 1c.2g.20gb,1c.2g.20gb",
    "NVIDIA H100 MIG 1g.12gb+me.all,1g.12gb+me.all"
  })
  void name_hasTheProfileAtItsEnd(String model, String profile) {
    assertThat(MigProfile.of(model, 9, 9, 0, 1)).isEqualTo(profile);
  }

  // Figures of an A100 with 40 GB.
  @ParameterizedTest
  @CsvSource({
    "1,1,4864,1g.5gb",
    "2,2,9856,2g.10gb",
    "3,3,19968,3g.20gb",
    "7,7,40192,7g.40gb",
    "2,1,9856,1c.2g.10gb"
  })
  void attributes_tellWhatTheNameDoesNot(int gpu, int compute, long memoryMib, String profile) {
    assertThat(MigProfile.of("NVIDIA A100", gpu, compute, memoryMib * MIB, 40536 * MIB))
        .isEqualTo(profile);
  }
}
