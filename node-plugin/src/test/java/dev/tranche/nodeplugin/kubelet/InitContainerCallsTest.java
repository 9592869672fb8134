package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/** What init containers get, and what they leave to the other containers of their pod. */
class InitContainerCallsTest extends AllocationCallsRig {
  /** R = 10: the init container has 12, of which the app takes any five over. */
  @Test
  void splitInitContainer_getsWhatItsPodHolds() {
    assignHeld("uid-p", "p", List.of(share("G1", 8), share("G2", 4)), container("main", "G1", 5));
    lists("p", "main");
    AllocationCalls.Preferred init = prefer(12);
    assertThat(init.answer().outcome()).isEqualTo(PreferredAllocation.Outcome.ASSIGNED);
    assertThat(init.answer().ids()).filteredOn(id -> id.startsWith("G1::")).hasSize(8);
    assertThat(init.answer().ids()).filteredOn(id -> id.startsWith("G2::")).hasSize(4);
    assertThat(allocationCalls.expected(12, nowMs).podOfInit()).isEqualTo("ns/p");
    allocationCalls.granted(12, nowMs);
    // The kubelet takes what it likes of an init container's replicas.
    assertThat(prefer(5).found()).isPresent();
    assertThat(allocationCalls.expected(5, nowMs).shares()).isEmpty();
    assertThat(allocationCalls.expected(5, nowMs).podOfInit()).isEmpty();
  }

  /** R = 10: whichever replicas the kubelet passes on, the pod comes to hold what was decided. */
  @Test
  void podWithASplitInitContainer_comesToHoldWhatWasDecided() {
    for (long seed : Seeds.of(300)) {
      RandomGenerator random = Seeds.random(seed);
      var calls = new InitContainerCallsTest();
      int init = 1 + random.nextInt(12);
      calls.assignHeld(
          "uid-p",
          "p",
          List.of(share("G0", 2), share("G1", 10)),
          container("main", "G1", 10),
          container("second", "G0", 2));
      calls.lists("p", "main", "second");
      var reusable = new ArrayList<>(calls.admit(init, List.of(), ALL));
      var held = new ArrayList<>(reusable);
      for (var of :
          Map.of("main", 10, "second", 2).entrySet().stream()
              .sorted(Map.Entry.comparingByKey())
              .toList()) {
        Collections.shuffle(reusable, random);
        List<String> reused =
            List.copyOf(reusable.subList(0, Math.min(of.getValue(), reusable.size())));
        List<String> free =
            ALL.stream().filter(id -> !held.contains(id) || reused.contains(id)).toList();
        List<String> ids =
            reused.size() == of.getValue() ? reused : calls.admit(of.getValue(), reused, free);
        calls.holds("p", of.getKey(), ids);
        reusable.removeAll(ids);
        ids.stream().filter(id -> !held.contains(id)).forEach(held::add);
      }
      assertThat(held).as("seed %d", seed).filteredOn(id -> id.startsWith("G0::")).hasSize(2);
      assertThat(held).as("seed %d", seed).filteredOn(id -> id.startsWith("G1::")).hasSize(10);
    }
  }

  /** The first init container requests as many as "main", so its answer was taken for main's. */
  @Test
  void secondInitContainer_getsTheGpuOfItsPod_thoughTheFirstLookedLikeAnother() {
    assignHeld(
        "uid-p",
        "p",
        List.of(share("G0", 2)),
        container("main", "G0", 1),
        container("second", "G0", 1));
    lists("p", "main", "second");
    List<String> free = List.of("G0::6", "G0::7", "G1::0", "G1::1", "G1::2");
    assertThat(admit(1, List.of(), free)).containsExactly("G0::6");
    assertThat(admit(2, List.of("G0::6"), free)).containsExactly("G0::6", "G0::7");
  }

  private List<String> admit(int size, List<String> mustInclude, List<String> free) {
    List<String> ids = prefer(size, mustInclude, free).answer().ids();
    assertThat(ids).hasSize(size).containsAll(mustInclude);
    allocationCalls.granted(size, nowMs);
    return ids;
  }

  /** For what an init container passes on, the kubelet asks for no preference. */
  @Test
  void podWhoseContainersTookAllOver_isAdmitted_thoughAnEarlierPodHadItsName() {
    assign("web-0", container("main", "G0", 1));
    assignments.retract("uid-web-0", nowMs);
    assignHeld("uid-later", "web-0", List.of(share("G1", 3)), container("main", "G1", 1));
    lists("web-0", "main");
    admitOn("G1", 3);
    allocationCalls.granted(1, nowMs);
    holds("web-0", "main", List.of("G1::0"));
    lists("stranger", "main");
    assertThat(prefer(2).found()).isEmpty();
  }

  /** The init container was taken for the sidecar, which requests as many. */
  @Test
  void sidecarThatTookOver_isNotTakenForTheNextContainerOfItsSize() {
    assignHeld(
        "uid-p",
        "p",
        List.of(share("G0", 1), share("G1", 1), share("G2", 1)),
        container("side", "G1", 1),
        container("main", "G2", 1),
        container("second", "G0", 1));
    lists("p", "side", "main", "second");
    admitOn("G1", 1);
    allocationCalls.granted(1, nowMs);
    holds("p", "side", List.of("G1::0"));
    assertOn("G2", prefer(1));
  }

  /** The kubelet has not asked for the init container yet, which the assignment does not name. */
  @Test
  void whatAnInitContainerWillHave_isLeftAlone() {
    assignHeld("uid-p", "p", List.of(share("G1", 8)), container("main", "G1", 2));
    lists("stranger", "main");
    assertThat(prefer(5).answer().ids()).noneMatch(id -> id.startsWith("G1::"));
  }

  @Test
  void initContainer_largerThanWhatThePodHolds_isAnotherPods() {
    assignHeld("uid-p", "p", List.of(share("G1", 2)), container("main", "G1", 2));
    lists("p", "main");
    assertThat(prefer(6).found()).isEmpty();
  }

  @Test
  void initContainer_goesToTheGpuOfItsPod() {
    assignHeld("uid-pod", "pod", List.of(share("G2", 6)), container("main", "G2", 4));
    lists("pod", "main");
    AllocationCalls.Preferred preferred = prefer(6);
    assertOn("G2", preferred);
    assertThat(preferred.answer().outcome()).isEqualTo(PreferredAllocation.Outcome.ASSIGNED);
    allocationCalls.granted(6, nowMs);
    assertOn("G2", prefer(4));
  }
}
