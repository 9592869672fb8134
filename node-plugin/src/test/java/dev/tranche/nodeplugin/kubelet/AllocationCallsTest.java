package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.MemoryLimit;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The kubelet's two questions and whose they are. */
class AllocationCallsTest extends AllocationCallsRig {
  /** G0 is the fullest GPU that has three ids, but two pods hold eight of its replicas. */
  @Test
  void replicasOfTwoPods_areLeftAlone_exceptByAnAssignment() {
    duplicates = Map.of("G0", 8);
    List<String> free = ALL.subList(1, 30);
    assertOn("G1", prefer(3, List.of(), free));
    // The extender counts both pods, and one may have ended just now.
    assign("p", container("main", "G0", 3));
    lists("p", "main");
    assertOn("G0", prefer(3, List.of(), free));
  }

  /** The kubelet's List was late, so it was guessed, and wrongly. */
  @Test
  void podsThatWereTakenForEachOther_areBothWhole() {
    assign("first", container("main", "G0", 6));
    assign("second", container("main", "G1", 6));
    assertOn("G0", preferWithoutList(6));
    allocationCalls.granted(6, nowMs);
    listsHolding("second", ALL.subList(0, 6));
    lists("first", "main");
    var left = new ArrayList<>(ALL.subList(6, 20));
    left.addAll(ALL.subList(20, 25));
    assertOn("G1", prefer(6, List.of(), left));
  }

  /** The API server has forgotten it; the kubelet has not heard of that yet. */
  @Test
  void podThatIsGone_takesItsOwnPlace_whenTheKubeletAsksYet() {
    assign("gone", container("main", "G0", 6));
    assign("waiting", container("main", "G1", 6));
    assignments.retract("uid-gone", nowMs);
    lists("gone", "main");
    admitOn("G0", 6);
    holds("gone", "main", ALL.subList(0, 6));
    lists("waiting", "main");
    assertOn("G1", prefer(6));
  }

  @Test
  void podThatIsGone_betweenItsContainers_isExpectedYet() {
    assign("gone", container("one", "G0", 4), container("two", "G1", 6));
    lists("gone", "one", "two");
    admitOn("G0", 4);
    assignments.retract("uid-gone", nowMs);
    holds("gone", "one", ALL.subList(0, 4));
    assertOn("G1", prefer(6));
  }

  @Test
  void assignmentThatIsSentAgain_betweenItsContainers_reservesTheSecond() {
    assign("both", container("one", "G0", 4), container("two", "G1", 6));
    lists("both", "one", "two");
    prefer(4);
    allocationCalls.granted(4, nowMs);
    assignments.retract("uid-both", nowMs);
    assign("both", container("one", "G0", 4), container("two", "G1", 6));
    assertThat(assignments.reserved(RESOURCE, "", "", Optional.empty())).isEqualTo(Map.of("G1", 6));
  }

  @Test
  void podThatIsGone_isNotGuessed_whereItsPlaceIsPromised() {
    assign("gone", container("main", "G0", 6));
    assignments.retract("uid-gone", nowMs);
    assign("waiting", container("main", "G0", 10));
    assertThat(preferWithoutList(6).answer().ids()).noneMatch(id -> id.startsWith("G0::"));
  }

  @Test
  void podThatIsGone_isNotGuessed_whereAnotherOfItsSizeWaits() {
    assign("gone", container("main", "G0", 3));
    assignments.retract("uid-gone", nowMs);
    assign("waiting", container("main", "G1", 3));
    assertOn("G1", preferWithoutList(3));
  }

  @Test
  void podThatIsGone_isExpectedForAMinuteOnly() {
    assign("gone", container("main", "G0", 6));
    assignments.retract("uid-gone", nowMs);
    lists("gone", "main");
    assertThat(prefer(6).found()).isPresent();
    nowMs += Assignments.RETRACTED_MS;
    assignments.expire(nowMs);
    assertThat(prefer(6).found()).isEmpty();
  }

  /** Deleted by force and created again while the kubelet is behind. */
  @Test
  void predecessorThatAsksYet_leavesTheSuccessorItsAssignment() {
    assign("db-0", container("main", "G0", 3));
    assignments.retract("uid-db-0", nowMs);
    assignAs("uid-next", "db-0", container("main", "G1", 6));
    lists("db-0", "main");
    admitOn("G0", 3);
    holds("db-0", "main", ALL.subList(0, 3));
    assertThat(assignments.confirm(new PodList(list.build()))).isFalse();
    list.clear();
    lists("db-0", "main");
    admitOn("G1", 6);
    holds("db-0", "main", ALL.subList(10, 16));
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
  }

  /** The List cannot tell them apart, nor can their sizes. */
  @Test
  void predecessorOfEqualSizeThatAsksYet_leavesTheSuccessorItsAssignment() {
    assign("db-0", container("main", "G0", 3));
    assignments.retract("uid-db-0", nowMs);
    assignAs("uid-next", "db-0", container("main", "G1", 3));
    lists("db-0", "main");
    prefer(3);
    allocationCalls.granted(3, nowMs);
    holds("db-0", "main", ALL.subList(10, 13));
    assertThat(assignments.confirm(new PodList(list.build()))).isFalse();
    list.clear();
    lists("db-0", "main");
    admitOn("G1", 3);
    holds("db-0", "main", ALL.subList(10, 13));
    nowMs += Assignments.RETRACTED_MS;
    assignments.expire(nowMs);
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
  }

  /** The first call was the predecessor's, so the second is the deleted successor's. */
  @Test
  void successorThatIsGone_takesItsOwnPlace_whenThePredecessorWasTakenForIt() {
    assign("db-0", container("main", "G0", 3));
    assignments.retract("uid-db-0", nowMs);
    assignAs("uid-next", "db-0", container("main", "G1", 3));
    lists("db-0", "main");
    admitOn("G1", 3);
    assignments.retract("uid-next", nowMs);
    assertOn("G1", prefer(3));
  }

  /** The replicas that were promised since are taken by later calls than the one to forget it. */
  @Test
  void predecessorOfAnotherSize_takesItsOwnPlace_evenIfThatIsPromised() {
    assign("db-0", container("main", "G0", 3));
    assignments.retract("uid-db-0", nowMs);
    assignAs("uid-next", "db-0", container("main", "G1", 6));
    assign("later", container("main", "G0", 10));
    lists("db-0", "main");
    assertOn("G0", prefer(3));
  }

  @Test
  void podThatIsListedAndHoldsNothing_isTheOne() {
    assign("first", container("main", "G0", 3));
    assign("second", container("main", "G1", 3));
    lists("second", "main");
    assertOn("G1", prefer(3));
  }

  @Test
  void podThatHoldsItsShare_isNotAskedFor() {
    assign("done", container("main", "G0", 3));
    assign("next", container("main", "G2", 3));
    listsHolding("done", List.of("G0::0", "G0::1", "G0::2"));
    lists("next", "main");
    assertOn("G2", prefer(3));
  }

  @Test
  void containers_areAnsweredInTheirOrder() {
    assign("pod", container("sidecar", "G0", 2), container("main", "G1", 2));
    lists("pod", "sidecar", "main");
    admitOn("G0", 2);
    assertOn("G1", prefer(2));
  }

  @Test
  void lingeringPod_yieldsToTheOneThatCameLast() {
    assign("rejected", container("main", "G0", 3));
    lists("rejected", "main");
    assignments.listed(new PodList(list.build()));
    assign("fresh", container("main", "G1", 3));
    lists("fresh", "main");
    assertOn("G1", prefer(3));
  }

  @Test
  void refusedPod_isNotAskedForAgain() {
    assign("refused", container("main", "G0", 3));
    assign("other", container("main", "G1", 3));
    lists("refused", "main");
    prefer(3);
    allocationCalls.refused(3, nowMs);
    lists("other", "main");
    assertOn("G1", prefer(3));
  }

  @Test
  void podWithoutAssignment_leavesPromisedReplicasAlone() {
    assign("waiting", container("main", "G0", 9));
    lists("stranger", "main");
    AllocationCalls.Preferred preferred = prefer(5);
    assertThat(preferred.found()).isEmpty();
    assertThat(preferred.answer().ids()).noneMatch(id -> id.startsWith("G0::"));
  }

  @Test
  void withoutList_theOldestOfThatSizeIsMeant() {
    assign("small", container("main", "G0", 1));
    assign("old", container("main", "G1", 3));
    assign("young", container("main", "G2", 3));
    AllocationCalls.Preferred preferred = preferWithoutList(3);
    assertOn("G1", preferred);
    assertThat(preferred.found().orElseThrow().how()).isEqualTo(AdmittingPod.How.SIZE_AND_AGE);
  }

  /**
   * Why it is guessed at all: pods come in the order of their assignments, but for every fourth.
   * Without a guess none of them would get its GPU.
   */
  @Test
  void withoutList_mostGuessesAreRight() {
    Random random = new Random(1);
    int right = 0;
    for (int round = 0; round < 1_000; round++) {
      int pods = 1 + random.nextInt(4);
      List<PendingAssignment> waiting = new ArrayList<>();
      for (int i = 0; i < pods; i++) {
        Assignment assignment =
            Assignment.newBuilder()
                .setPodUid("uid-" + i)
                .setResource(RESOURCE)
                .addContainers(container("main", "G" + i, 1 + random.nextInt(4)))
                .build();
        waiting.add(new PendingAssignment(assignment, i, nowMs, Map.of(), 0));
      }
      PendingAssignment asking = waiting.get(random.nextInt(4) == 0 ? random.nextInt(pods) : 0);
      int size = PendingAssignment.size(asking.assignment().getContainers(0));
      right +=
          AdmittingPod.guess(waiting, RESOURCE, size)
                  .filter(found -> found.podUid().equals(asking.assignment().getPodUid()))
                  .isPresent()
              ? 1
              : 0;
    }
    assertThat(right).isGreaterThan(900);
  }

  @Test
  void allocate_longAfterTheQuestion_isNobodys() {
    assign("pod", container("main", "G0", 2));
    lists("pod", "main");
    prefer(2);
    assertThat(allocationCalls.expected(2, nowMs).shares()).hasSize(1);
    assertThat(allocationCalls.expected(2, nowMs + AllocationCalls.CALL_GAP_MAX_MS + 1).shares())
        .isEmpty();
  }

  @Test
  void assignments_areConfirmedOnceEveryContainerHolds() {
    assign("pod", container("a", "G0", 1), container("b", "G0", 1));
    lists("pod", "a", "b");
    holds("pod", "a", List.of("G0::0"));
    assertThat(assignments.confirm(new PodList(list.build()))).isFalse();
    holds("pod", "b", List.of("G0::1"));
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
    assertThat(assignments.size()).isZero();
  }

  /** A StatefulSet's pod; the earlier one was deleted by force and goes on running. */
  @Test
  void assignment_isNotConfirmedByAnEarlierPodOfTheName() {
    listsHolding("pod", List.of("G1::0"));
    assignments.listed(new PodList(list.build()));
    assign("pod", container("main", "G0", 1));
    assertThat(assignments.confirm(new PodList(list.build()))).isFalse();
    admitOn("G0", 1);
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
  }

  @Test
  void assignment_isConfirmedWithoutUs_onceTheEarlierPodOfTheNameIsGone() {
    listsHolding("pod", List.of("G1::0"));
    assignments.listed(new PodList(list.build()));
    assign("pod", container("main", "G0", 1));
    assignments.listed(new PodList(ListPodResourcesResponse.getDefaultInstance()));
    assignments.listed(new PodList(list.build()));
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
  }

  /** As a new leader does, which has not heard of the confirmation. */
  @Test
  void confirmedAssignmentThatIsSentAgain_isNoNamesakes_andHidesNobody() {
    assign("done", container("main", "G0", 3));
    listsHolding("done", List.of("G0::0", "G0::1", "G0::2"));
    assignments.listed(new PodList(list.build()));
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
    assign("next", container("main", "G2", 3));
    lists("next", "main");
    assign("done", container("main", "G0", 3));
    assignments.listed(new PodList(list.build()));
    assertOn("G2", prefer(3));
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
    assertThat(assignments.size()).isOne();
  }

  /** Each pod of a StatefulSet has the name of an earlier one. */
  @Test
  void confirmedSuccessorThatIsSentAgain_isConfirmedByTheNextList() {
    for (String uid : List.of("uid-one", "uid-two")) {
      list.clear();
      assignAs(uid, "db-0", container("main", "G0", 6));
      lists("db-0", "main");
      prefer(6);
      allocationCalls.granted(6, nowMs);
      holds("db-0", "main", ALL.subList(0, 6));
      assignments.confirm(new PodList(list.build()));
    }
    assertThat(assignments.size()).isZero();
    assignAs("uid-two", "db-0", container("main", "G0", 6));
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
  }

  /** Before a restart it may have been confirmed, so it is the less likely one. */
  @Test
  void podWhoseNameHoldsDevices_isAskedForOnlyIfNobodyElseIs() {
    listsHolding("held", List.of("G0::0", "G0::1", "G0::2"));
    assignments.listed(new PodList(list.build()));
    lists("next", "main");
    assign("next", container("main", "G2", 3));
    assignments.listed(new PodList(list.build()));
    assign("held", container("main", "G0", 3));
    assertOn("G2", prefer(3));
  }

  @Test
  void assignment_expires() {
    assign("pod", container("main", "G0", 1));
    assertThat(assignments.expire(999_999)).isFalse();
    assertThat(assignments.remaining(400_000).getFirst().getExpiresInMs()).isEqualTo(600_000);
    assertThat(assignments.expire(1_000_000)).isTrue();
  }

  @Test
  void sizeThatIsOutstanding_mayBeAssigned_evenWithoutAPreferenceBefore() {
    assertThat(allocationCalls.expected(3, nowMs).mayBeAssigned()).isFalse();
    assign("a", container("main", "G1", 3));
    assertThat(allocationCalls.expected(3, nowMs).mayBeAssigned()).isTrue();
    assertThat(allocationCalls.expected(2, nowMs).mayBeAssigned()).isFalse();
    assertThat(
            new AllocationCalls(assignments, "nvidia.com/other").expected(3, nowMs).mayBeAssigned())
        .isFalse();
    assignments.refused("uid-a");
    assertThat(allocationCalls.expected(3, nowMs).mayBeAssigned()).isFalse();
  }

  private static ContainerAssignment limited(String name, String uuid, int replicas, long bytes) {
    return container(name, uuid, replicas).toBuilder()
        .setMemoryLimit(MemoryLimit.newBuilder().setBytes(bytes))
        .build();
  }

  @Test
  void memoryLimit_isThatOfTheContainer_orWhatAllThatMayBeMeantSay() {
    assign("p", limited("main", "G0", 3, 1 << 30), container("side", "G0", 2));
    lists("p", "main", "side");
    prefer(3);
    assertThat(allocationCalls.expected(3, nowMs).memoryLimit()).hasValue(1 << 30);
    allocationCalls.granted(3, nowMs);
    holds("p", "main", ALL.subList(0, 3));
    prefer(2);
    assertThat(allocationCalls.expected(2, nowMs).memoryLimit()).isEmpty();
    allocationCalls.granted(2, nowMs);
    // The kubelet passes an init container's replicas on, and does not prefer any.
    assign("q", limited("main", "G1", 4, 0));
    assertThat(allocationCalls.expected(4, nowMs).memoryLimit()).hasValue(0);
    assign("r", container("main", "G2", 4));
    assertThat(allocationCalls.expected(4, nowMs).memoryLimit()).isEmpty();
  }

  /** Another replica of the extender may not know the pod's annotation. */
  @Test
  void limitThatIsSentAnew_leavesTheProgressOfItsPod() {
    assign("a", limited("main", "G0", 3, 0));
    lists("a", "main");
    prefer(3);
    allocationCalls.granted(3, nowMs);
    assign("a", container("main", "G0", 3));
    assertThat(assignments.reserved(RESOURCE, "", "", Optional.empty())).isEmpty();
  }

  /** It is not named by the assignment, so what holds for all of the pod holds for it. */
  @Test
  void initContainer_hasTheLimitOfItsPod() {
    assign("p", limited("main", "G0", 3, 0), limited("other", "G0", 2, 0));
    lists("p", "main", "other");
    assertThat(prefer(1).found().orElseThrow().container()).isEmpty();
    assertThat(allocationCalls.expected(1, nowMs).memoryLimit()).hasValue(0);
  }

  @Test
  void predecessorOfTheSameName_doesNotConfirm_norHideWhoIsAsking() {
    listsHolding("db-0", List.of("G0::0", "G0::1"));
    assignments.listed(new PodList(list.build()));
    assign("db-0", container("main", "G1", 2));
    assertThat(assignments.confirm(new PodList(list.build()))).isFalse();
    admitOn("G1", 2);
    list.clear();
    listsHolding("db-0", List.of("G1::0", "G1::1"));
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
  }

  @Test
  void podThatWasAllocatedByAnotherRun_isConfirmedByOtherIdsThanBefore() {
    listsHolding("db-0", List.of("G0::0", "G0::1"));
    assignments.listed(new PodList(list.build()));
    assign("db-0", container("main", "G1", 2));
    list.clear();
    listsHolding("db-0", List.of("G1::0", "G1::1"));
    assertThat(assignments.confirm(new PodList(list.build()))).isTrue();
  }
}
