package dev.tranche.extender.score.packing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tranche.api.AllowList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class StrandingTest {
  private static final Shape SMALL = new Shape(10, 16, 1, 100, AllowList.ANY);

  private static FreeCapacity capacity(long cpuMilli, int... gpuMilli) {
    return new FreeCapacity("Tesla T4", cpuMilli, 1 << 20, gpuMilli);
  }

  @Test
  void of_afterSmallPodsOnly_missesWhatAWholeGpuWouldNeed() {
    var stranding = new Stranding(List.of(SMALL), new double[] {1});
    assertThat(stranding.of(capacity(4_000, 1_000))).isZero();
    // Small ones can use all of these: three of ten pods to come cannot.
    assertThat(stranding.of(capacity(1_000, 1_000))).isCloseTo(300, within(1e-6));
    assertThat(stranding.of(capacity(4_000, 500, 500))).isCloseTo(300, within(1e-6));
  }

  @Test
  void of_beforeAnythingWasSeen_isByWholeGpus() {
    var stranding = new Stranding(List.of(), new double[0]);
    assertThat(stranding.of(capacity(8_000, 1_000, 1_000))).isZero();
    assertThat(stranding.of(capacity(4_000, 1_000, 1_000))).isPositive();
  }

  /** A node may report another model each time. */
  @Test
  void models_areBounded() {
    var stranding = new Stranding(List.of(SMALL), new double[] {1});
    for (int i = 0; i < 10_000; i++) {
      stranding.of(new FreeCapacity("model-" + i, 4_000, 1 << 20, new int[] {1_000}));
    }
    assertThat(stranding.admitted.size()).isLessThanOrEqualTo(Stranding.MODELS_MAX);
  }
}
