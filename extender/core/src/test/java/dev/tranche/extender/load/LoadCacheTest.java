package dev.tranche.extender.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.load.LoadCache.LoadChange;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class LoadCacheTest {
  private static final Set<String> GPUS = Set.of("GPU-0", "GPU-1");
  private final LoadCache loads = new LoadCache(15_000, 10_000, 330_000);

  private static LoadReading reading(int pods, int from) {
    var memory = new HashMap<String, Long>();
    var sm = new HashMap<String, Double>();
    for (int i = from; i < from + pods; i++) {
      memory.put("ns/p" + i, 1L);
      sm.put("ns/p" + i, 0.1);
    }
    return Readings.of(pods, 0.5, pods, 1_000, memory, sm);
  }

  /** A node's credential in the wrong hands: each report names others, and calls itself old. */
  @Test
  void podsThatANodeNames_areForgottenOnceTheyAreTooMany() {
    for (int i = 0; i < 20; i++) {
      var uuid = "GPU-" + i % 2;
      loads.put("a", Map.of(uuid, reading(4_096, i * 4_096)), () -> GPUS);
      assertThat(loads.pods).isLessThanOrEqualTo(LoadCache.PODS_MAX);
    }
    assertThat(loads.get("a", "GPU-1").orElseThrow().memoryUsedBytesByPod()).hasSize(4_096);
    loads.forget("a");
    assertThat(loads.pods).isZero();
  }

  /** Many credentials: each node stays within its bound. */
  @Test
  void podsThatAllNodesName_areForgottenOnceTheyAreTooMany() {
    var bounded = new LoadCache(15_000, 10_000, 330_000, 20_000);
    for (int i = 0; i < 20; i++) {
      for (int node = 0; node < 50; node++) {
        bounded.put("n" + node, Map.of("GPU-" + i % 2, reading(100, i * 100)), () -> GPUS);
      }
      // Those of the last report are kept all the same.
      assertThat(bounded.pods).isLessThanOrEqualTo(20_000 + 50 * 200);
    }
  }

  /** Whoever waits is tried again then, and that costs the loop its time. */
  @Test
  void memory_hasEased_onlyWhereSomeOfItMayBeFree() {
    used(4, Map.of("ns/a", 1L, "ns/b", 2L));
    assertThat(used(4, Map.of("ns/a", 1L, "ns/b", 2L))).isEqualTo(LoadChange.NONE);
    assertThat(used(6, Map.of("ns/a", 2L, "ns/b", 3L))).isEqualTo(LoadChange.SOME);
    assertThat(used(7, Map.of("ns/a", 2L, "ns/b", 3L, "ns/c", 1L))).isEqualTo(LoadChange.SOME);
    // What was nobody's is within a grant now.
    assertThat(used(7, Map.of("ns/a", 2L, "ns/b", 4L, "ns/c", 1L)))
        .isEqualTo(LoadChange.MEMORY_FREED);
    // One had more than its grant, the other takes up within its own.
    assertThat(used(7, Map.of("ns/a", 1L, "ns/b", 5L, "ns/c", 1L)))
        .isEqualTo(LoadChange.MEMORY_FREED);
    assertThat(used(6, Map.of("ns/a", 1L, "ns/b", 5L))).isEqualTo(LoadChange.MEMORY_FREED);
  }

  private LoadChange used(long bytes, Map<String, Long> byPod) {
    var reading = Readings.of(bytes, 0.5, 2, 1_000, byPod, Map.of());
    return loads.put("a", Map.of("GPU-0", reading), () -> GPUS);
  }

  @Test
  void podThatPauses_isRememberedWhileThereIsRoom() {
    loads.put("a", Map.of("GPU-0", reading(2, 0)), () -> GPUS);
    loads.put("a", Map.of("GPU-0", reading(1, 0)), () -> GPUS);
    assertThat(loads.beganAtMs("a", "GPU-0", "ns/p1")).isEqualTo(1_000);
  }
}
