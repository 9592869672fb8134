package dev.tranche.extender.score.packing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class HostRequestTest {
  @ParameterizedTest
  @CsvSource({
    "1,1000",
    "250m,250",
    "0.5,500",
    "1500u,2",
    "2k,2000000",
    "1e2,100000",
    "nonsense,0",
    "-1,0",
    "99999999999999999999,1125899906842624"
  })
  void of_cpu_isRoundedUpToMilli(String quantity, long milli) {
    assertThat(HostRequest.of(Map.of("cpu", quantity)).cpuMilli()).isEqualTo(milli);
  }

  @ParameterizedTest
  @CsvSource({"128Mi,128", "1Gi,1024", "1,1", "1048577,2", "512Ki,1", "1M,1", "1Ei,1099511627776"})
  void of_memory_isRoundedUpToMib(String quantity, long mib) {
    assertThat(HostRequest.of(Map.of("memory", quantity)).memoryMib()).isEqualTo(mib);
  }
}
