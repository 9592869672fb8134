package dev.tranche.extender.readapi.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.explain.InvariantCheck;
import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.Invariant;
import dev.tranche.extender.invariant.InvariantWatch.Standing;
import dev.tranche.extender.readapi.row.InvariantList;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class InvariantTableTest {
  private static final Instant NOW = Instant.parse("2026-11-26T20:00:00Z");

  private static String table(int leftOut, Standing... found) {
    var round = new InvariantCheck.Round(3, 6, 40, List.of(found), leftOut, 90_000);
    return Output.TABLE.of(InvariantList.of(round, NOW, 100_000), NOW);
  }

  @Test
  void brokenInvariants_comeFirst_withTheTimeForWhichTheyStand() {
    var passing = new Finding(Invariant.HOLD_MATCHES_KUBELET, "a", "pod ns/a has nothing");
    var broken = new Finding(Invariant.GPU_ALLOCATED_ONCE, "G", "3/2 of GPU G are allocated");
    assertThat(table(7, new Standing(passing, 88_000, false), new Standing(broken, 60_000, true)))
        .isEqualTo(
            """
            INVARIANT            BROKEN   SECONDS   MESSAGE
            GpuAllocatedOnce     yes      40        3/2 of GPU G are allocated
            HoldMatchesKubelet   no       12        pod ns/a has nothing
            # 7 more
            """);
  }

  @Test
  void nothingFound_isAHeader() {
    assertThat(table(0)).isEqualTo("INVARIANT   BROKEN   SECONDS   MESSAGE\n");
  }
}
