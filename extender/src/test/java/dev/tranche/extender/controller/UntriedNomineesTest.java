package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.fabric8.kubernetes.api.model.Event;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Nominated, the victims gone, and not tried again. */
final class UntriedNomineesTest {
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private final FakeWorld world = rig.world;
  private final FakeWorld.FilterNow filter = world.filter();
  private final MistakeEvents events = new MistakeEvents(rig.context);
  private final PodScan controller =
      new PodScan(rig.context, world.ledger::pods, PodRules.untriedNominee(world.core), events);

  private final PodFacts pod =
      FakeWorld.pod("p", 8).with(new PreemptionInfo(100, Map.of(), 0, false, "n"));

  private void full() {
    world.report("n", new Gpu("n0", 0, 10 * FakeWorld.GIB));
  }

  private void free() {
    world.report("n", new Gpu("n0", 0, 0));
  }

  private void tryIt() {
    world.state.apply(new dev.tranche.extender.ledger.Event.PodSeen(pod));
    filter.filter(pod, List.of("n"), false);
  }

  private void seconds(int count) {
    for (int i = 0; i < count; i += 10) {
      world.nowMs += 10_000;
      controller.everyTenSeconds();
      events.tick();
    }
  }

  private double untried() {
    return rig.mistaken(PodMistake.UNTRIED_NOMINEE);
  }

  @Test
  void podThatFitsAndIsNotTried_isToldOnce_andCountsUntilItIsTried() {
    full();
    tryIt();
    seconds(60);
    assertThat(created).as("the victims are there").isEmpty();
    free();
    seconds(30);
    assertThat(untried()).isZero();
    seconds(60);
    assertThat(untried()).isOne();
    assertThat(created).singleElement().satisfies(this::names);
    tryIt();
    seconds(60);
    assertThat(untried()).isZero();
    assertThat(created).hasSize(1);
  }

  private void names(Event event) {
    assertThat(event.getReason()).isEqualTo(PodMistake.UNTRIED_NOMINEE.reason);
    assertThat(event.getInvolvedObject().getName()).isEqualTo("p");
    assertThat(event.getMessage()).contains("on node n,");
  }

  @Test
  void podThatIsRefusedAgain_isTried() {
    full();
    tryIt();
    free();
    seconds(20);
    full();
    tryIt();
    free();
    seconds(30);
    assertThat(created).isEmpty();
    seconds(10);
    assertThat(created).hasSize(1);
  }
}
