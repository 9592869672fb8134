package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.webhook.Reviews;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GpuNodeTest {

  /**
   * GPU Feature Discovery may count MIG devices where the plugin offers one GPU, or the reverse.
   */
  @ParameterizedTest
  @CsvSource(
      nullValues = "none",
      value = {"7, 1, 1", "1, 7, 7", "4, 4, 4", "4, none, 4", "none, 2, 2"})
  void gpus_areCountedByOurLabel_andByNvidiasOnlyWithoutIt(
      String nvidias, String ours, int counted) {
    Map<String, String> labels = new HashMap<>(Map.of("tranche.dev/replicas-per-gpu", "1"));
    labels.put("nvidia.com/gpu.count", nvidias);
    labels.put("tranche.dev/gpus", ours);
    labels.values().removeIf(value -> value == null);
    assertThat(Reviews.node("n", labels).gpus()).hasValue(counted);
  }
}
