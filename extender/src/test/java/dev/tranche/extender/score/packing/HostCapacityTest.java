package dev.tranche.extender.score.packing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class HostCapacityTest {
  private static final HostRequest FOUR = new HostRequest(4_000, 4_096);
  private final HostCapacity rooms = new HostCapacity();

  @BeforeEach
  void node() {
    rooms.node("a", new HostRequest(10_000, 10_240));
  }

  private void free(long cpuMilli, long memoryMib) {
    assertThat(rooms.free("a")).isEqualTo(new HostRequest(cpuMilli, memoryMib));
  }

  @Test
  void pod_seenTwice_countsOnce() {
    rooms.pod("u", "a", false, FOUR);
    rooms.pod("u", "a", false, FOUR);
    free(6_000, 6_144);
  }

  @Test
  void pod_lateNewsOfItsPending_isIgnored() {
    rooms.pod("u", "a", false, FOUR);
    rooms.pod("u", null, false, FOUR);
    free(6_000, 6_144);
  }

  @Test
  void pod_endedAndThenGone_isFreedOnce() {
    rooms.pod("u", "a", false, FOUR);
    rooms.pod("v", "a", false, FOUR);
    rooms.pod("u", "a", true, FOUR);
    rooms.podGone("u");
    free(6_000, 6_144);
    assertThat(rooms.pods()).isEqualTo(1);
  }

  @Test
  void pod_resized_countsAnew() {
    rooms.pod("u", "a", false, FOUR);
    rooms.pod("u", "a", false, new HostRequest(1_000, 1_024));
    free(9_000, 9_216);
  }
}
