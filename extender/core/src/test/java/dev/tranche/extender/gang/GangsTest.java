package dev.tranche.extender.gang;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GangsTest {
  private static final String GROUP = "ns/train";
  private final Gangs gangs = new Gangs();
  private long nowMs = 1_000;

  private void fit(String... uids) {
    for (String uid : uids) {
      gangs.fits(GROUP, uid, nowMs);
    }
  }

  private Gangs.Refusal refuse(String uid) {
    return gangs.refused(GROUP, uid, known -> true, nowMs);
  }

  @Test
  void refusedMember_givesUpTheOthers_andSaysWhatIsMissing() {
    gangs.groupSeen(GROUP, 4, 0, nowMs);
    fit("a", "b", "c");
    Gangs.Refusal refusal = refuse("d");
    assertThat(refusal.release()).containsExactly("a", "b", "c");
    assertThat(refusal.sentence())
        .contains("its pod group ns/train needs 4 pods with GPUs at once, and 3 of them fit now");
    assertThat(gangs.holding(GROUP)).isEmpty();
    assertThat(refuse("d").release()).as("the next attempt begins with nothing").isEmpty();
  }

  @Test
  void gangOfMorePodsThanItsMinimum_canDoWithoutSome() {
    gangs.groupSeen(GROUP, 2, 0, nowMs);
    fit("a", "b", "c");
    assertThat(refuse("c")).isEqualTo(Gangs.Refusal.NONE);
    assertThat(gangs.holding(GROUP)).containsExactlyInAnyOrder("a", "b");
    assertThat(refuse("b").release()).containsExactly("a");
  }

  /** The others are still to be asked about. */
  @Test
  void firstMember_ofAGangWhoseMinimumIsLarger_endsTheAttempt() {
    gangs.groupSeen(GROUP, 4, 0, nowMs);
    assertThat(refuse("a").sentence()).hasValueSatisfying(s -> assertThat(s).contains("0 of them"));
  }

  @Test
  void groupThatIsNoGang_keepsItsHolds() {
    gangs.groupSeen(GROUP, 0, 0, nowMs);
    fit("a");
    assertThat(refuse("b")).isEqualTo(Gangs.Refusal.NONE);
    assertThat(gangs.undecided(GROUP)).isEmpty();
    assertThat(gangs.holding(GROUP)).containsExactly("a");
  }

  @Test
  void groupThatIsNotWatched_countsAsAGangOfAllItsPods() {
    fit("a", "b");
    assertThat(refuse("c").release()).containsExactly("a", "b");
  }

  @Test
  void undecidedMember_endsTheAttempt() {
    gangs.groupSeen(GROUP, 2, 0, nowMs);
    fit("a", "b", "c");
    assertThat(gangs.undecided(GROUP)).containsExactly("a", "b", "c");
    assertThat(gangs.undecided(GROUP)).isEmpty();
    assertThat(gangs.undecided("ns/other")).isEmpty();
  }

  private void waitForItsRefusal() {
    nowMs += Gangs.REFUSED_FOR_MS;
  }

  /** It refused a member by itself, so that nobody was asked about it. */
  @Test
  void refusalOfKubeSchedulerItself_givesUpTheAttempt_onceForEachReason() {
    gangs.groupSeen(GROUP, 4, 0, nowMs);
    fit("a", "b", "c");
    assertThat(gangs.groupSeen(GROUP, 4, 17, nowMs)).as("maybe a late one").isEmpty();
    assertThat(gangs.overdue(nowMs + Gangs.REFUSED_FOR_MS - 1)).isEmpty();
    waitForItsRefusal();
    assertThat(gangs.overdue(nowMs)).containsExactly("a", "b", "c");
    assertThat(gangs.holding(GROUP)).isEmpty();
    fit("a", "b");
    assertThat(gangs.groupSeen(GROUP, 4, 17, nowMs)).as("another change of the object").isEmpty();
    waitForItsRefusal();
    assertThat(gangs.overdue(nowMs)).isEmpty();
    assertThat(gangs.holding(GROUP)).containsExactlyInAnyOrder("a", "b");
    gangs.groupSeen(GROUP, 4, 18, nowMs);
    waitForItsRefusal();
    assertThat(gangs.overdue(nowMs)).containsExactly("a", "b");
    fit("a");
    gangs.groupSeen(GROUP, 4, 0, nowMs);
    waitForItsRefusal();
    assertThat(gangs.overdue(nowMs)).as("it is scheduled").isEmpty();
  }

  /** The status of one attempt comes while the next one has begun. */
  @Test
  void lateRefusal_leavesTheHoldsOfTheNextAttempt() {
    gangs.groupSeen(GROUP, 3, 0, nowMs);
    fit("a", "b", "c");
    nowMs += 1_000;
    fit("a");
    assertThat(gangs.groupSeen(GROUP, 3, 17, nowMs)).isEmpty();
    assertThat(gangs.holding(GROUP)).contains("a", "b", "c");
    nowMs += 10;
    fit("b");
    gangs.bound(GROUP, "a");
    waitForItsRefusal();
    assertThat(gangs.overdue(nowMs)).as("not asked about again").containsExactly("c");
    assertThat(gangs.holding(GROUP)).containsExactly("b");
    assertThat(gangs.overdue(nowMs + 60_000)).isEmpty();
  }

  @Test
  void secondRefusal_givesUpAtOnce_whatTheFirstOneLeft() {
    gangs.groupSeen(GROUP, 3, 0, nowMs);
    fit("a", "b");
    gangs.groupSeen(GROUP, 3, 17, nowMs);
    nowMs += 100;
    fit("b");
    assertThat(gangs.groupSeen(GROUP, 3, 18, nowMs)).containsExactly("a");
    waitForItsRefusal();
    assertThat(gangs.overdue(nowMs)).containsExactly("b");
  }

  @Test
  void refusalInTheFirstList_isAnOldOne() {
    fit("a");
    assertThat(gangs.groupSeen(GROUP, 4, 17, nowMs)).isEmpty();
    waitForItsRefusal();
    assertThat(gangs.overdue(nowMs)).isEmpty();
  }

  @Test
  void refusedGroupThatIsNoGang_keepsItsHolds() {
    gangs.groupSeen(GROUP, 0, 0, nowMs);
    fit("a");
    assertThat(gangs.groupSeen(GROUP, 0, 17, nowMs)).isEmpty();
    waitForItsRefusal();
    assertThat(gangs.overdue(nowMs)).isEmpty();
    assertThat(gangs.holding(GROUP)).containsExactly("a");
  }

  @Test
  void boundMembers_countForTheMinimum_andAreNeverReleased() {
    gangs.groupSeen(GROUP, 2, 0, nowMs);
    gangs.bound(GROUP, "a");
    gangs.bound(GROUP, "b");
    assertThat(refuse("c")).as("the gang has its minimum").isEqualTo(Gangs.Refusal.NONE);
    gangs.groupSeen(GROUP, 4, 0, nowMs);
    fit("d");
    Gangs.Refusal refusal = refuse("c");
    assertThat(refusal.release()).containsExactly("d");
    assertThat(refusal.sentence()).hasValueSatisfying(s -> assertThat(s).contains("3 of them"));
    assertThat(refuse("c").sentence()).hasValueSatisfying(s -> assertThat(s).contains("2 of them"));
  }

  @Test
  void boundPodsOfOtherGroups_evictNoGangOutOfItsAttempt() {
    gangs.groupSeen(GROUP, 3, 0, nowMs);
    fit("a", "b");
    IntStream.rangeClosed(0, Gangs.GROUPS_MAX)
        .forEach(i -> gangs.bound("ns/running-" + i, "pod-" + i));
    assertThat(gangs.holding(GROUP)).containsExactlyInAnyOrder("a", "b");
    assertThat(gangs.groups.size()).isEqualTo(1);
    assertThat(gangs.groupByBoundPod.size()).isEqualTo(Gangs.GROUPS_MAX + 1);
  }

  @Test
  void updatesOfABoundPod_countOnce_andUntilItEnds() {
    gangs.groupSeen(GROUP, 2, 0, nowMs);
    fit("a");
    for (int i = 0; i < 3; i++) {
      gangs.bound(GROUP, "a");
    }
    assertThat(refuse("b").sentence()).hasValueSatisfying(s -> assertThat(s).contains("1 of them"));
    gangs.podEnded("a");
    gangs.podEnded("a");
    gangs.podEnded("stranger");
    assertThat(gangs.groupByBoundPod.size()).isZero();
    assertThat(refuse("b").sentence()).hasValueSatisfying(s -> assertThat(s).contains("0 of them"));
  }

  @Test
  void boundPods_areBounded() {
    IntStream.rangeClosed(0, Gangs.BOUND_MAX).forEach(i -> gangs.bound(GROUP, "pod-" + i));
    assertThat(gangs.groupByBoundPod.size()).isEqualTo(Gangs.BOUND_MAX);
    gangs.podEnded("pod-0");
    gangs.bound(GROUP, "pod-" + Gangs.BOUND_MAX);
    assertThat(gangs.groupByBoundPod.size()).isEqualTo(Gangs.BOUND_MAX);
  }

  @Test
  void podsThatAreGone_areNoMembers() {
    gangs.groupSeen(GROUP, 2, 0, nowMs);
    fit("gone", "a", "b");
    nowMs += Gangs.SEEN_WITHIN_MS + 1;
    fit("a", "b");
    assertThat(gangs.refused(GROUP, "b", "ab"::contains, nowMs).release()).containsExactly("a");
  }

  @Test
  void podThatTheWatchHasNotShownYet_isAMember() {
    gangs.groupSeen(GROUP, 2, 0, nowMs);
    fit("a", "b");
    assertThat(gangs.refused(GROUP, "c", known -> false, nowMs)).isEqualTo(Gangs.Refusal.NONE);
  }

  @Test
  void groupsAndMembers_areBounded_andTheLeastRecentGoFirst() {
    gangs.fits("ns/first", "a", nowMs);
    gangs.fits("ns/second", "a", nowMs);
    gangs.fits("ns/first", "b", nowMs);
    IntStream.range(0, Gangs.GROUPS_MAX - 1).forEach(i -> gangs.fits("ns/" + i, "a", nowMs));
    assertThat(gangs.groups.size()).isEqualTo(Gangs.GROUPS_MAX);
    assertThat(gangs.holding("ns/first")).containsExactlyInAnyOrder("a", "b");
    assertThat(gangs.holding("ns/second")).isEmpty();
    IntStream.range(0, 2 * Gangs.MEMBERS_MAX).forEach(i -> fit("m" + i));
    assertThat(gangs.holding(GROUP)).hasSize(Gangs.MEMBERS_MAX);
  }

  @Test
  void groupThatIsDeleted_isForgotten() {
    gangs.groupSeen(GROUP, 1, 0, nowMs);
    fit("a");
    gangs.groupGone(GROUP);
    assertThat(gangs.groups.size()).isZero();
  }
}
