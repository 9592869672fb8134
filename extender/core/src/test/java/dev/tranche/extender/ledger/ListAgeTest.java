package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The kubelet names pods by namespace and name, and its list may be old. */
final class ListAgeTest extends LedgerRig {
  /** A StatefulSet's pod, deleted and made anew within the age of the node's list. */
  @Test
  void readBack_ofAnEarlierPodOfTheSameName_isIgnored() {
    var earlier = Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3)));
    report(NODE, Map.of());
    apply(new Event.PodSeen(named("old", "web-0", NODE, false, "gpu-0")));
    report(NODE, earlier);
    assertThat(ledger.hold("old").orElseThrow().confirmed()).isTrue();
    nowMs += 500;
    apply(new Event.PodGone("old", "ns/web-0"));
    apply(new Event.BindStarted(named("new", "web-0", null, false, null), NODE, on("gpu-1", 3)));
    apply(new Event.BindDone("new"));
    nowMs += 500;
    var decisions = new java.util.ArrayList<>(report(NODE, earlier));
    decisions.addAll(apply(new Event.PodSeen(named("new", "web-0", NODE, false, "gpu-1"))));
    nowMs += 500;
    decisions.addAll(report(NODE, earlier));
    decisions.addAll(apply(new Event.PodSeen(named("new", "web-0", NODE, true, "gpu-1"))));
    assertThat(decisions).noneMatch(Decision.Drifted.class::isInstance);
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isFalse();
    assertThat(free("gpu-0")).isEqualTo(10);
    assertThat(free("gpu-1")).isEqualTo(7);
    nowMs += 5_000;
    report(NODE, Map.of("ns/web-0", Map.of("main", Map.of("gpu-1", 3))));
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isTrue();
  }

  @Test
  void readBack_olderThanTheHold_isIgnored() {
    report(NODE, Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3))));
    nowMs += 500;
    apply(new Event.PodSeen(named("new", "web-0", NODE, false, "gpu-1")));
    apply(new Event.PodSeen(named("new", "web-0", NODE, true, "gpu-1")));
    assertThat(ledger.hold("new").orElseThrow().held()).containsOnlyKeys("gpu-1");
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isFalse();
  }

  @Test
  void readBack_ofAPodThatRanBeforeWeSawIt_counts() {
    report(NODE, Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3))));
    nowMs += 500;
    apply(new Event.PodSeen(named("p", "web-0", NODE, true, null)));
    assertThat(ledger.hold("p").orElseThrow().confirmed()).isTrue();
    assertThat(free("gpu-0")).isEqualTo(7);
    assertThat(free("gpu-1")).isEqualTo(10);
  }

  /** PodResources fails, and the node repeats its last list. */
  @Test
  void listThatIsOlderThanTheHold_confirmsNothing_howeverOftenItIsRepeated() {
    var stale = state(Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3))), List.of());
    apply(listed(stale, 0));
    apply(new Event.PodSeen(named("old", "web-0", NODE, true, "gpu-0")));
    nowMs += 20_000;
    apply(listed(stale, 20_000));
    apply(new Event.PodGone("old", "ns/web-0"));
    pass(20_000);
    apply(new Event.BindStarted(named("new", "web-0", null, false, null), NODE, on("gpu-1", 3)));
    apply(new Event.BindDone("new"));
    apply(new Event.PodSeen(named("new", "web-0", NODE, false, "gpu-1")));
    for (int i = 1; i <= 20; i++) {
      nowMs += 5_000;
      assertThat(apply(listed(stale, 40_000 + i * 5_000)))
          .noneMatch(Decision.Drifted.class::isInstance);
    }
    assertThat(ledger.hold("new").orElseThrow().held()).containsOnlyKeys("gpu-1");
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isFalse();
    assertThat(free("gpu-1")).isEqualTo(7);
    report(NODE, Map.of("ns/web-0", Map.of("main", Map.of("gpu-1", 3))));
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isTrue();
  }

  /** Plugins of old do not say how old their list is: a repeated one is as old as its first. */
  @Test
  void listWithoutAge_isAsOldAsWhenItWasHeardFirst() {
    var stale = state(Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3))), List.of());
    apply(new Event.Reported(NODE, stale, OptionalLong.empty()));
    nowMs += 60_000;
    apply(new Event.PodSeen(named("new", "web-0", NODE, false, "gpu-1")));
    nowMs += 60_000;
    apply(new Event.Reported(NODE, stale, OptionalLong.empty()));
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isFalse();
    var made = state(Map.of("ns/web-0", Map.of("main", Map.of("gpu-1", 3))), List.of());
    apply(new Event.Reported(NODE, made, OptionalLong.empty()));
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isTrue();
  }

  /** The extender has restarted, and sees a running pod of whose name the node has an old list. */
  @Test
  void oldList_doesNotTellOfAPodThatRanBeforeWeSawIt() {
    var stale = state(Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3))), List.of());
    apply(listed(stale, 60_000));
    apply(new Event.PodSeen(named("new", "web-0", NODE, true, "gpu-1")));
    nowMs += 5_000;
    apply(listed(stale, 65_000));
    assertThat(ledger.hold("new").orElseThrow().held()).containsOnlyKeys("gpu-1");
    assertThat(free("gpu-1")).isEqualTo(7);
  }

  /** A force-deleted pod goes on running; the assignment tells the two apart. */
  @Test
  void listedNamesake_isNotThePodThatTheNodeStillWaitsFor() {
    var earlier = Map.of("ns/web-0", Map.of("main", Map.of("gpu-0", 3)));
    var awaited = new Assignment("new", "ns/web-0", Names.RESOURCE, on("gpu-1", 3), 10, Map.of());
    apply(new Event.PodSeen(named("new", "web-0", NODE, false, "gpu-1")));
    nowMs += 60_000;
    apply(listed(state(earlier, List.of(awaited)), 0));
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isFalse();
    nowMs += 1_000;
    apply(new Event.PodSeen(named("new", "web-0", NODE, true, "gpu-1")));
    apply(listed(state(earlier, List.of(awaited)), 1_000));
    assertThat(ledger.hold("new").orElseThrow().held()).containsOnlyKeys("gpu-1");
    nowMs += 1_000;
    var own = Map.of("ns/web-0", Map.of("main", Map.of("gpu-1", 3)));
    apply(listed(state(own, List.of(awaited)), 0));
    assertThat(ledger.hold("new").orElseThrow().confirmed()).isTrue();
  }

  private static Event listed(NodeState state, long ageMs) {
    return new Event.Reported(NODE, state, OptionalLong.of(ageMs));
  }
}
