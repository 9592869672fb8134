package dev.tranche.nodeplugin.nvml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MigProfileTest {
  @ParameterizedTest
  @CsvSource({
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb,1g.5gb",
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb+me,1g.5gb+me",
    "NVIDIA H100 MIG 1c.2g.20gb,1c.2g.20gb",
    "NVIDIA H100 MIG 1g.12gb+me.all,1g.12gb+me.all"
  })
  void name_hasTheProfileAtItsEnd(String model, String profile) {
    assertThat(MigProfile.of(model)).isEqualTo(profile);
  }

  @Test
  void nameWithoutAProfile_isAnError() {
    assertThatThrownBy(() -> MigProfile.of("NVIDIA A100"))
        .isInstanceOf(NvmlException.class)
        .hasMessageContaining("NVIDIA A100");
  }
}
