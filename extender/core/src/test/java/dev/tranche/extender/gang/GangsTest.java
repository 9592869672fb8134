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
    gangs.groupSeen(GROUP, 4, 0);
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
    gangs.groupSeen(GROUP, 2, 0);
    fit("a", "b", "c");
    assertThat(refuse("c")).isEqualTo(Gangs.Refusal.NONE);
    assertThat(gangs.holding(GROUP)).containsExactlyInAnyOrder("a", "b");
    assertThat(refuse("b").release()).containsExactly("a");
  }

  /** The others are still to be asked about. */
  @Test
  void firstMember_ofAGangWhoseMinimumIsLarger_endsTheAttempt() {
    gangs.groupSeen(GROUP, 4, 0);
    assertThat(refuse("a").sentence()).hasValueSatisfying(s -> assertThat(s).contains("0 of them"));
  }

  @Test
  void groupThatIsNoGang_keepsItsHolds() {
    gangs.groupSeen(GROUP, 0, 0);
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
    gangs.groupSeen(GROUP, 2, 0);
    fit("a", "b", "c");
    assertThat(gangs.undecided(GROUP)).containsExactly("a", "b", "c");
    assertThat(gangs.undecided(GROUP)).isEmpty();
    assertThat(gangs.undecided("ns/other")).isEmpty();
  }

  /** It refused a member by itself, so that nobody was asked about it. */
  @Test
  void refusalOfKubeSchedulerItself_givesUpTheAttempt_onceForEachReason() {
    gangs.groupSeen(GROUP, 4, 0);
    fit("a", "b", "c");
    assertThat(gangs.groupSeen(GROUP, 4, 17)).containsExactly("a", "b", "c");
    fit("a", "b");
    assertThat(gangs.groupSeen(GROUP, 4, 17)).as("another change of the object").isEmpty();
    assertThat(gangs.holding(GROUP)).containsExactlyInAnyOrder("a", "b");
    assertThat(gangs.groupSeen(GROUP, 4, 18)).containsExactly("a", "b");
    fit("a");
    assertThat(gangs.groupSeen(GROUP, 4, 0)).as("it is scheduled").isEmpty();
  }

  @Test
  void refusalInTheFirstList_isAnOldOne() {
    fit("a");
    assertThat(gangs.groupSeen(GROUP, 4, 17)).isEmpty();
  }

  @Test
  void refusedGroupThatIsNoGang_keepsItsHolds() {
    gangs.groupSeen(GROUP, 0, 0);
    fit("a");
    assertThat(gangs.groupSeen(GROUP, 0, 17)).isEmpty();
    assertThat(gangs.holding(GROUP)).containsExactly("a");
  }

  @Test
  void boundMembers_countForTheMinimum_andAreNeverReleased() {
    gangs.groupSeen(GROUP, 2, 0);
    gangs.bound(GROUP, "a", nowMs);
    gangs.bound(GROUP, "b", nowMs);
    assertThat(refuse("c")).as("the gang has its minimum").isEqualTo(Gangs.Refusal.NONE);
    gangs.groupSeen(GROUP, 4, 0);
    fit("d");
    Gangs.Refusal refusal = refuse("c");
    assertThat(refusal.release()).containsExactly("d");
    assertThat(refusal.sentence()).hasValueSatisfying(s -> assertThat(s).contains("3 of them"));
    assertThat(refuse("c").sentence()).hasValueSatisfying(s -> assertThat(s).contains("2 of them"));
  }

  @Test
  void podsThatAreGone_areNoMembers() {
    gangs.groupSeen(GROUP, 2, 0);
    fit("gone", "a", "b");
    nowMs += Gangs.SEEN_WITHIN_MS + 1;
    fit("a", "b");
    assertThat(gangs.refused(GROUP, "b", "ab"::contains, nowMs).release()).containsExactly("a");
  }

  @Test
  void podThatTheWatchHasNotShownYet_isAMember() {
    gangs.groupSeen(GROUP, 2, 0);
    fit("a", "b");
    assertThat(gangs.refused(GROUP, "c", known -> false, nowMs)).isEqualTo(Gangs.Refusal.NONE);
  }

  @Test
  void groupsAndMembers_areBounded_andTheLeastRecentGoFirst() {
    gangs.fits("ns/first", "a", nowMs);
    gangs.fits("ns/second", "a", nowMs);
    gangs.fits("ns/first", "b", nowMs);
    IntStream.range(0, Gangs.GROUPS_MAX - 1).forEach(i -> gangs.fits("ns/" + i, "a", nowMs));
    assertThat(gangs.size()).isEqualTo(Gangs.GROUPS_MAX);
    assertThat(gangs.holding("ns/first")).containsExactlyInAnyOrder("a", "b");
    assertThat(gangs.holding("ns/second")).isEmpty();
    IntStream.range(0, 2 * Gangs.MEMBERS_MAX).forEach(i -> fit("m" + i));
    assertThat(gangs.holding(GROUP)).hasSize(Gangs.MEMBERS_MAX);
  }

  @Test
  void groupThatIsDeleted_isForgotten() {
    gangs.groupSeen(GROUP, 1, 0);
    fit("a");
    gangs.groupGone(GROUP);
    assertThat(gangs.size()).isZero();
  }
}
