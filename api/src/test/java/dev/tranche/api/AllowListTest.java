package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AllowListTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "Tesla T4 | Tesla-T4 | true",
        "tesla-t4 | Tesla-T4-SHARED | true",
        "Tesla-T4-SHARED | Tesla-T4-SHARED | true",
        "Tesla-T4 | NVIDIA-A100-PCIE-40GB | false",
        "!Tesla T4 | Tesla-T4-SHARED | false",
        "! Tesla T4 | Tesla-T4 | false",
        "!Tesla T4 | NVIDIA-A100-PCIE-40GB | true",
        "NVIDIA A10, Tesla T4 | Tesla-T4 | true",
        "T4 | Tesla-T4 | true",
        "T4 | Tesla-T4-SHARED | true",
        "H100 80GB HBM3 | NVIDIA-H100-80GB-HBM3 | true",
        "H100 | NVIDIA-H100-80GB-HBM3-SHARED | true",
        "80GB HBM3 | NVIDIA-H100-80GB-HBM3 | true",
        "A10 | NVIDIA-A100-PCIE-40GB | false",
        "H200 | NVIDIA-H200-NVL | true",
        "NVIDIA-H200 | NVIDIA-H200-NVL | false",
        "NVIDIA H200 | NVIDIA-H200 | true",
        "A100-SXM4-40GB | NVIDIA-A100-SXM4-40GB-MIG-1g.5gb | false",
        "MIG-1g.5gb | NVIDIA-A100-SXM4-40GB-MIG-1g.5gb | true",
        "!H100 | NVIDIA-H100-80GB-HBM3 | false",
        "!A10 | NVIDIA-A100-PCIE-40GB | true",
      })
  void label_isHeldAgainstTheList(String list, String label, boolean admitted) {
    assertThat(AllowList.parse(list).admitsModel(label)).isEqualTo(admitted);
  }

  @Test
  void noList_admitsAll() {
    assertThat(AllowList.parse(null).admitsModel("Tesla-T4")).isTrue();
  }
}
