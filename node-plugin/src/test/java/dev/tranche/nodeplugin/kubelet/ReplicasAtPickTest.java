package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReplicasAtPickTest {
  private static final Replicas TEN = replicas(10);
  private static final Replicas FOUR = replicas(4);

  static Replicas replicas(int count) {
    return SharedGpus.replicas(
        new GpuSharing("nvidia.com/gpu", count, SharingStrategy.TIME_SLICING, false),
        List.of(new GpuInfo(0, "GPU-0", "Tesla T4", 0, 0, 0, -1, 0, Mig.OFF)));
  }

  @Test
  void pickOfTheConfigBefore_isGoodForAMoment() {
    ReplicasAtPick picks = new ReplicasAtPick(TEN);
    picks.update(FOUR, 1_000);
    long lastMs = 1_000 + ReplicasAtPick.REPLACED_MS - 1;
    assertThat(picks.of(List.of("GPU-0::9"), lastMs)).isSameAs(TEN);
    assertThat(picks.of(List.of("GPU-0::9"), lastMs + 1)).isSameAs(FOUR);
  }

  @Test
  void pickThatTheConfigOfNowMakes_isItsOwn() {
    ReplicasAtPick picks = new ReplicasAtPick(TEN);
    picks.update(FOUR, 0);
    assertThat(picks.of(List.of("GPU-0::3"), 0)).isSameAs(FOUR);
    assertThat(picks.of(List.of("GPU-7::0"), 0)).isSameAs(FOUR);
  }

  @Test
  void otherHealth_replacesNothing() {
    ReplicasAtPick picks = new ReplicasAtPick(TEN);
    picks.update(FOUR, 0);
    Replicas again = replicas(4);
    picks.update(again, 1);
    assertThat(picks.of(List.of("GPU-0::9"), 2)).isSameAs(TEN);
    assertThat(picks.of(List.of("GPU-0::0"), 2)).isSameAs(again);
  }
}
