package dev.tranche.extender.score.packing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class HostCapacityTest {
  private static final HostRequest FOUR = new HostRequest(4_000, 4_096);
  private final HostCapacity capacities = new HostCapacity();

  @BeforeEach
  void node() {
    capacities.node("a", new HostRequest(10_000, 10_240));
  }

  private void free(long cpuMilli, long memoryMib) {
    assertThat(capacities.free("a")).isEqualTo(new HostRequest(cpuMilli, memoryMib));
  }

  @Test
  void pod_seenTwice_countsOnce() {
    capacities.pod("u", "a", false, FOUR);
    capacities.pod("u", "a", false, FOUR);
    free(6_000, 6_144);
  }

  @Test
  void pod_lateNewsOfItsPending_isIgnored() {
    capacities.pod("u", "a", false, FOUR);
    capacities.pod("u", null, false, FOUR);
    free(6_000, 6_144);
  }

  @Test
  void pod_endedAndThenGone_isFreedOnce() {
    capacities.pod("u", "a", false, FOUR);
    capacities.pod("v", "a", false, FOUR);
    capacities.pod("u", "a", true, FOUR);
    capacities.podGone("u");
    free(6_000, 6_144);
    assertThat(capacities.pods()).isEqualTo(1);
  }

  @Test
  void pod_resized_countsAnew() {
    capacities.pod("u", "a", false, FOUR);
    capacities.pod("u", "a", false, new HostRequest(1_000, 1_024));
    free(9_000, 9_216);
  }

  @Test
  void node_thatChangesOrIsGone_keepsWhatItsPodsTake() {
    capacities.pod("u", "a", false, FOUR);
    capacities.node("a", new HostRequest(20_000, 20_480));
    free(16_000, 16_384);
    capacities.nodeGone("a");
    free(-4_000, -4_096);
    capacities.podGone("u");
    free(0, 0);
  }
}
