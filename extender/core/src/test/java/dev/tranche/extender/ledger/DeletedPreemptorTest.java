package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A kube-scheduler whose watch lags evicts pods for one that is deleted, and places it. */
final class DeletedPreemptorTest extends LedgerRig {
  private static final PodFacts DELETED = pod("p", null);

  @BeforeEach
  void report() {
    report(NODE, Map.of());
  }

  private void evictAndPlace() {
    apply(new Event.Nominate(DELETED, Map.of(NODE, on("gpu-0", 3)), NODE));
    apply(new Event.Reserve(DELETED, NODE, on("gpu-0", 3)));
  }

  @Test
  void podThatNoWatchShows_isHeldForOnlyAsLongAsItIsTried() {
    for (int i = 0; i < 3; i++) {
      evictAndPlace();
      pass(Timing.DEFAULT.tentativeMs() - 1);
      assertThat(free("gpu-0")).isEqualTo(7);
    }
    nowMs++;
    apply(new Event.Tick());
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(ledger.nominatedPods()).isEmpty();
  }

  @Test
  void podThatIsKnownToBeDeleted_isNotHeld() {
    apply(new Event.PodSeen(DELETED));
    apply(new Event.PodGone("p", "ns/p"));
    evictAndPlace();
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(ledger.nominatedPods()).isEmpty();
  }
}
