package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a pod's annotations say about its memory limits. */
class LimitRequestTest {
  @Test
  void sizeOrNone_isRead_andTheContainersOwnCountsMore() {
    Map<String, String> annotations =
        Map.of("tranche.dev/gpu-memory-limit", "none", "tranche.dev/gpu-memory-limit.a", "2Gi");
    assertThat(LimitRequest.of(annotations, "a")).hasValue(2L << 30);
    assertThat(LimitRequest.of(annotations, "b")).hasValue(LimitRequest.NONE);
    assertThat(LimitRequest.of(Map.of(), "a")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "None", "0", "-1Gi", "4096", "1023Ki", "4GiB", "none,none"})
  void anythingElse_saysNothing(String value) {
    assertThat(LimitRequest.parse(value)).isEmpty();
  }
}
