package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** kube-scheduler asks about the members of a gang one by one, and binds all or none. */
class GangFilterTest {
  private static final String GROUP = "ns/train";
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final FakeWorld.FilterNow filter = world.filter();

  /** Two GPUs: room for four halves. */
  @BeforeEach
  void oneNode() {
    world.state.apply(new Event.NodeSeen(new NodeFacts("a", Set.of(), "", true)));
    world.report("a", new FakeWorld.Gpu("GPU-1", 0, 0), new FakeWorld.Gpu("GPU-2", 0, 0));
    world.gangs.groupSeen(GROUP, 4, 0, world.nowMs);
  }

  private static PodFacts half(String name) {
    return FakeWorld.pod(name, 5);
  }

  private Filter.Answer member(String name) {
    return filter.filter(half(name), List.of("a"), false, GROUP);
  }

  private static boolean offered(Filter.Answer answer) {
    return answer instanceof Filter.Answer.Nodes(var nodes, var refused) && !nodes.isEmpty();
  }

  private List<String> holding() {
    return List.of("m1", "m2", "m3", "m4", "fifth").stream()
        .filter(name -> world.ledger.hold(name).isPresent())
        .toList();
  }

  private void fifthTakesAHalf() {
    assertThat(offered(filter.filter(half("fifth"), List.of("a"), false))).isTrue();
    var bound = half("fifth").on("a");
    world.see(bound);
  }

  @Test
  void gangThatFits_holdsAllItsReplicas() {
    for (String name : List.of("m1", "m2", "m3", "m4")) {
      assertThat(offered(member(name))).as(name).isTrue();
    }
    assertThat(holding()).containsExactly("m1", "m2", "m3", "m4");
  }

  @Test
  void refusedMember_freesWhatTheOthersHeld_atOnce() {
    fifthTakesAHalf();
    for (String name : List.of("m1", "m2", "m3")) {
      assertThat(offered(member(name))).as(name).isTrue();
    }
    assertThat(holding()).containsExactly("m1", "m2", "m3", "fifth");
    Filter.Answer last = member("m4");
    assertThat(last).isInstanceOf(Filter.Answer.Nodes.class);
    assertThat(((Filter.Answer.Nodes) last).refused()).containsEntry(Reason.FULL, List.of("a"));
    assertThat(holding()).containsExactly("fifth");
    assertThat(world.rejection("m4"))
        .contains("its pod group ns/train needs 4 pods with GPUs at once, and 3 of them fit now");
    assertThat(offered(filter.filter(half("other"), List.of("a"), false)))
        .as("another pod at once")
        .isTrue();
  }

  @Test
  void refusedMember_isNotWokenByWhatItsOwnGangFreed() {
    fifthTakesAHalf();
    List.of("m1", "m2", "m3", "m4").forEach(this::member);
    world.pass(60_000);
    world.woken.clear();
    List.of("m1", "m2", "m3", "m4").forEach(this::member);
    world.tick();
    assertThat(world.woken).isEmpty();
  }

  @Test
  void gang_isPlacedWhole_afterTheFifthIsGone() {
    fifthTakesAHalf();
    List.of("m1", "m2", "m3", "m4").forEach(this::member);
    world.state.apply(new Event.PodGone("fifth", "ns/fifth"));
    world.nowMs += 60_000;
    world.report("a", new FakeWorld.Gpu("GPU-1", 0, 0), new FakeWorld.Gpu("GPU-2", 0, 0));
    for (String name : List.of("m1", "m2", "m3", "m4")) {
      assertThat(offered(member(name))).as(name).isTrue();
    }
    assertThat(holding()).containsExactly("m1", "m2", "m3", "m4");
  }

  /** Without that, two gangs would each hold what the other lacks. */
  @Test
  void memberWhoseReplicasAreHeldByAnother_endsTheAttempt_withItsOwnHolds() {
    assertThat(offered(filter.filter(half("fifth"), List.of("a"), false))).isTrue();
    List.of("m1", "m2", "m3").forEach(this::member);
    assertThat(member("m4")).isInstanceOf(Filter.Answer.Undecided.class);
    assertThat(holding()).containsExactly("fifth");
  }

  @Test
  void boundMember_keepsItsReplicas_whenTheRestIsRefused() {
    List.of("m1", "m2", "m3", "m4").forEach(this::member);
    world.see(half("m1").on("a"));
    List.of("m2", "m3", "m4").forEach(name -> world.state.apply(new Event.Release(name)));
    fifthTakesAHalf();
    List.of("m2", "m3", "m4").forEach(this::member);
    assertThat(holding()).containsExactly("m1", "fifth");
  }

  /** The old leader bound two of the four. Only the watch says so to the new one. */
  @Test
  void refusal_afterAChangeOfLeader_countsTheBoundMembers() {
    for (String name : List.of("m1", "m2")) {
      var bound = FakeWorld.pod(name, 5, "tranche.dev/gpu=GPU-1").on("a");
      world.see(bound);
      world.gangs.bound(GROUP, name);
    }
    fifthTakesAHalf();
    assertThat(offered(member("m3"))).isTrue();
    member("m4");
    assertThat(world.rejection("m4")).contains("and 3 of them fit now");
    assertThat(holding()).containsExactly("m1", "m2", "fifth");
  }

  @Test
  void podsOfAGroupThatIsNoGang_areHeldEachOnItsOwn() {
    world.gangs.groupSeen(GROUP, 0, 0, world.nowMs);
    fifthTakesAHalf();
    List.of("m1", "m2", "m3", "m4").forEach(this::member);
    assertThat(holding()).containsExactly("m1", "m2", "m3", "fifth");
  }
}
