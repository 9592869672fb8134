package dev.tranche.extender.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.load.Readings;
import dev.tranche.extender.load.UsageDistribution;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.LoadForecast;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** What is expected of pods that are new on their GPU, and what is learnt from them. */
final class NewcomersTest {
  private static final Offset<Double> EXACT = Offset.offset(1e-6);
  private static final long YOUNG_MS = Timing.DEFAULT.youngMs();

  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  NewcomersTest() {
    world.report("a", new Gpu("a0", 0, 0));
  }

  private GpuView gpu() {
    return world.evaluator.evaluate(FakeWorld.pod("p", 3), "a").gpus().getFirst();
  }

  private void bound(String name) {
    world.see(FakeWorld.pod(name, 3, "tranche.dev/gpu=a0").on("a"));
  }

  private void read(long passedMs, Map<String, Double> smByPod) {
    world.nowMs += passedMs;
    var reading = Readings.of(0, 0.1, 1, world.nowMs, Map.of(), smByPod);
    world.report("a", Map.of("a0", reading), new Gpu("a0", 0, 0));
  }

  private static double least(LoadForecast loadForecast) {
    return loadForecast.chances().stream().mapToDouble(LoadForecast.Chance::load).min().orElse(-1);
  }

  private static double most(LoadForecast loadForecast) {
    return loadForecast.chances().stream().mapToDouble(LoadForecast.Chance::load).max().orElse(-1);
  }

  @Test
  void newcomer_mayTurnOutToBeAnything_untilItIsKnown() {
    bound("old");
    read(1, Map.of("ns/old", 0.2, LoadReading.OTHERS, 0.05));
    read(YOUNG_MS, Map.of("ns/old", 0.2, LoadReading.OTHERS, 0.05));
    assertThat(gpu().loadForecast().chances()).singleElement().extracting("load").isEqualTo(0.25);
    bound("new");
    assertThat(most(gpu().loadForecast())).isGreaterThan(1);
    assertThat(least(gpu().loadForecast())).isLessThan(0.35);
    read(1, Map.of("ns/old", 0.2, "ns/new", 0.6, LoadReading.OTHERS, 0.05));
    read(YOUNG_MS / 2, Map.of("ns/old", 0.2, "ns/new", 0.6, LoadReading.OTHERS, 0.05));
    assertThat(least(gpu().loadForecast())).isCloseTo(0.85, EXACT);
    read(YOUNG_MS / 2, Map.of("ns/old", 0.2, "ns/new", 0.6, LoadReading.OTHERS, 0.05));
    assertThat(gpu().loadForecast().chances()).hasSize(1);
    assertThat(least(gpu().loadForecast())).isCloseTo(0.85, EXACT);
  }

  @Test
  void podThatBeginsLate_isANewcomerUntilItHasWorkedForAWhile() {
    bound("old");
    read(1, Map.of("ns/old", 0.2));
    read(YOUNG_MS, Map.of("ns/old", 0.2));
    bound("late");
    read(3 * YOUNG_MS, Map.of("ns/old", 0.2));
    assertThat(most(gpu().loadForecast())).as("pulls its image").isGreaterThan(1);
    read(3 * YOUNG_MS, Map.of("ns/old", 0.2, "ns/late", 0.0));
    assertThat(most(gpu().loadForecast())).as("reads its model").isGreaterThan(1);
    read(1, Map.of("ns/old", 0.2, "ns/late", 0.5));
    assertThat(gpu().smLoad()).isCloseTo(0.1 + 0.3, EXACT);
    read(YOUNG_MS, Map.of("ns/old", 0.2, "ns/late", 0.5));
    assertThat(gpu().loadForecast().chances()).singleElement().extracting("load").isEqualTo(0.7);
    assertThat(gpu().smLoad()).isCloseTo(0.1, EXACT);
  }

  @Test
  void podThatPauses_hasBegunAllTheSame() {
    bound("p1");
    read(1, Map.of("ns/p1", 0.5));
    read(YOUNG_MS, Map.of(LoadReading.OTHERS, 0.0));
    assertThat(gpu().loadForecast().chances()).singleElement().extracting("load").isEqualTo(0.0);
    read(1, Map.of("ns/p1", 0.5));
    assertThat(gpu().loadForecast().chances()).singleElement().extracting("load").isEqualTo(0.5);
    for (int i = 0; i < 200; i++) {
      read(1, Map.of(LoadReading.OTHERS, 0.0));
      read(YOUNG_MS, Map.of("ns/p1", 0.5));
    }
    assertThat(gpu().loadForecast().odds().parts().getFirst().odds())
        .as("learnt from once")
        .isCloseTo(UsageDistribution.GUESS.parts().getFirst().odds(), Offset.offset(0.1));
  }

  @Test
  void podThatPullsItsImage_isNotForgottenWhereTheGpuIsLeftMeanwhile() {
    bound("old");
    read(1, Map.of("ns/old", 0.9));
    bound("pulls");
    read(2 * YOUNG_MS, Map.of("ns/old", 0.9));
    world.state.apply(new Event.PodGone("old", "ns/old"));
    leave(1, 0.85);
    assertThat(most(gpu().loadForecast())).isGreaterThan(1.5);
    leave(YOUNG_MS, 0.1);
    assertThat(most(gpu().loadForecast())).isGreaterThan(1);
  }

  @Test
  void nodeThatNamesPodsButNotTheirUse_isTakenAtItsMean() {
    bound("p1");
    read(1, Map.of("ns/p1", 0.0, LoadReading.OTHERS, 0.1));
    read(YOUNG_MS, Map.of("ns/p1", 0.0, LoadReading.OTHERS, 0.1));
    assertThat(gpu().loadForecast().chances()).hasSize(1);
    assertThat(gpu().smLoad()).isCloseTo(0.1, EXACT);
  }

  /** No process is left, and the mean has not forgotten yet. */
  private void leave(long passedMs, double smMean) {
    world.nowMs += passedMs;
    var reading = Readings.of(0, smMean, 0, world.nowMs, Map.of(), Map.of());
    world.report("a", Map.of("a0", reading), new Gpu("a0", 0, 0));
  }

  @Test
  void podThatBeginsAtTheVeryLast_isANewcomerForAsLongAsAnother() {
    bound("p1");
    read(Timing.DEFAULT.idleAfterMs() - 1, Map.of("ns/p1", 0.1));
    read(YOUNG_MS / 2, Map.of("ns/p1", 0.1));
    assertThat(most(gpu().loadForecast())).isGreaterThan(0.2);
    read(YOUNG_MS / 2, Map.of("ns/p1", 0.1));
    assertThat(gpu().loadForecast().chances()).hasSize(1);
  }

  @Test
  void podsThatDoNothing_countForLessAndLess() {
    for (int i = 0; i < 3; i++) {
      bound("idle-" + i);
    }
    Map<String, Double> idle = Map.of("ns/idle-0", 0.0, "ns/idle-1", 0.0, "ns/idle-2", 0.0);
    read(1, idle);
    double fresh = least(gpu().loadForecast());
    read(Timing.DEFAULT.idleAfterMs() * 9 / 10, idle);
    assertThat(least(gpu().loadForecast())).isLessThan(fresh / 2);
  }

  @Test
  void podThatNeverWorks_isTakenAtThatInTheEnd() {
    bound("old");
    read(1, Map.of("ns/old", 0.2));
    world.state.apply(new Event.PodGone("old", "ns/old"));
    bound("idle");
    read(Timing.DEFAULT.idleAfterMs() - 1, Map.of("ns/idle", 0.0));
    assertThat(most(gpu().loadForecast())).isEqualTo(1);
    read(1, Map.of("ns/idle", 0.0));
    assertThat(gpu().loadForecast().chances()).singleElement().extracting("load").isEqualTo(0.0);
  }

  @Test
  void firstPodOfANode_isANewcomerUntilItHasWorked_whereOtherNodesNameTheirs() {
    bound("old");
    read(1, Map.of("ns/old", 0.2));
    world.see(FakeWorld.pod("first", 3, "tranche.dev/gpu=b0").on("b"));
    readsItsModel(3 * YOUNG_MS);
    var gpu = world.evaluator.evaluate(FakeWorld.pod("p", 3), "b").gpus().getFirst();
    assertThat(most(gpu.loadForecast())).isEqualTo(1);
  }

  private void readsItsModel(long passedMs) {
    world.nowMs += passedMs;
    var reading = Readings.of(0, 0, 1, world.nowMs, Map.of(), Map.of("ns/first", 0.0));
    world.report("b", Map.of("b0", reading), new Gpu("b0", 0, 0));
  }

  @Test
  void useOfAPod_isSmoothedFromItsFirstWorkOn() {
    bound("old");
    read(1, Map.of("ns/old", 0.0));
    read(1, Map.of("ns/old", 0.2));
    read(YOUNG_MS / 3, Map.of("ns/old", 0.6));
    assertThat(least(gpu().loadForecast())).isCloseTo(0.4, EXACT);
  }

  @Test
  void nodeThatCannotTellItsPodsApart_isTakenAtItsMean() {
    bound("old");
    read(YOUNG_MS, Map.of());
    assertThat(gpu().loadForecast()).isEqualTo(LoadForecast.certain(0.1, UsageDistribution.GUESS));
  }

  @Test
  void eachPod_isLearntFromOnce_asSoonAsItIsKnown() {
    for (int i = 0; i < 200; i++) {
      world.report("a", new Gpu("a0", 0, 0));
      bound("brief-" + i);
      read(1, Map.of("ns/brief-" + i, 0.3));
      read(YOUNG_MS / 2, Map.of("ns/brief-" + i, 0.3));
      world.state.apply(new Event.PodGone("brief-" + i, "ns/brief-" + i));
    }
    assertThat(gpu().loadForecast().odds()).isEqualTo(UsageDistribution.GUESS);
    bound("pod");
    read(1, Map.of("ns/pod", 0.3));
    for (int i = 0; i < 200; i++) {
      read(YOUNG_MS, Map.of("ns/pod", 0.3));
    }
    assertThat(exactly()).isLessThan(0.4);
    for (int i = 0; i < 200; i++) {
      bound("pod-" + i);
      worksAndGoes("pod-" + i);
    }
    assertThat(exactly()).isGreaterThan(0.8);
  }

  /** Readings may be as old as their node says. */
  @Test
  void podOfANodeWhoseReadingsGoBackInTime_isLearntFromOnce() {
    bound("pod");
    read(1, Map.of("ns/pod", 0.3));
    read(YOUNG_MS, Map.of("ns/pod", 0.3));
    UsageDistribution once = gpu().loadForecast().odds();
    for (int i = 0; i < 200; i++) {
      readAt(world.nowMs - 2 * YOUNG_MS);
      readAt(world.nowMs);
    }
    assertThat(gpu().loadForecast().odds()).isEqualTo(once);
  }

  private void readAt(long sampledAtMs) {
    var reading = Readings.of(0, 0.3, 1, sampledAtMs, Map.of(), Map.of("ns/pod", 0.3));
    world.report("a", Map.of("a0", reading), new Gpu("a0", 0, 0));
  }

  @Test
  void podThatBeginsLate_isLearntFromByItsWork() {
    for (int i = 0; i < 200; i++) {
      bound("late-" + i);
      read(2 * YOUNG_MS, Map.of("ns/late-" + i, 0.0));
      worksAndGoes("late-" + i);
    }
    assertThat(exactly()).isGreaterThan(0.8);
  }

  /** It is known by then. */
  private void worksAndGoes(String name) {
    read(1, Map.of("ns/" + name, 0.3));
    read(YOUNG_MS, Map.of("ns/" + name, 0.3));
    world.state.apply(new Event.PodGone(name, "ns/" + name));
  }

  @Test
  void podOnSeveralGpus_countsAsOne() {
    double one = new NewcomersTest().learntFrom("one", "a0");
    double two = new NewcomersTest().learntFrom("two", "a0", "a1");
    assertThat(two).isPositive().isCloseTo(one, Offset.offset(0.03));
  }

  /** By how much more likely it has become that pods use what they ask for. */
  private double learntFrom(String name, String... uuids) {
    double before = exactly();
    for (int i = 0; i < 5; i++) {
      String each = name + "-" + i;
      PodFacts pod = FakeWorld.pod(each, 3 * uuids.length);
      var shares = Arrays.stream(uuids).map(uuid -> new Placement.Share(uuid, 3)).toList();
      var place = Placement.of(List.of(new Placement.Container("main", shares)));
      world.state.assign(new Event.BindStarted(pod, "a", place));
      readOn(1, Map.of("ns/" + each, 0.3), uuids);
      readOn(YOUNG_MS, Map.of("ns/" + each, 0.3), uuids);
      world.state.apply(new Event.PodGone(each, "ns/" + each));
    }
    return exactly() - before;
  }

  private void readOn(long passedMs, Map<String, Double> smByPod, String... uuids) {
    world.nowMs += passedMs;
    var reading = Readings.of(0, 0.1, 1, world.nowMs, Map.of(), smByPod);
    Map<String, LoadReading> readings =
        Arrays.stream(uuids).collect(Collectors.toMap(uuid -> uuid, uuid -> reading));
    world.report("a", readings, new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
  }

  @Test
  void oneReadingAlone_teachesNothing() {
    for (int i = 0; i < 200; i++) {
      bound("pod-" + i);
      read(YOUNG_MS, Map.of("ns/pod-" + i, 0.3));
      world.state.apply(new Event.PodGone("pod-" + i, "ns/pod-" + i));
    }
    assertThat(gpu().loadForecast().odds()).isEqualTo(UsageDistribution.GUESS);
  }

  @Test
  void whatIsLearnt_holdsOnNodesThatSayNothingNew() {
    world.report("idle", new Gpu("i0", 0, 0));
    var pod = FakeWorld.pod("p", 3);
    assertThat(odds(pod, "idle")).isEqualTo(UsageDistribution.GUESS);
    for (int i = 0; i < 200; i++) {
      bound("pod-" + i);
      read(1, Map.of("ns/pod-" + i, 0.3));
      world.report("idle", new Gpu("i0", 0, 0));
      read(YOUNG_MS, Map.of("ns/pod-" + i, 0.3));
      world.state.apply(new Event.PodGone("pod-" + i, "ns/pod-" + i));
    }
    assertThat(odds(pod, "idle")).isNotEqualTo(UsageDistribution.GUESS).isEqualTo(odds(pod, "a"));
  }

  private UsageDistribution odds(PodFacts pod, String node) {
    return world.evaluator.evaluate(pod, node).gpus().getFirst().loadForecast().odds();
  }

  /** How many are expected to use what they ask for. */
  private double exactly() {
    return gpu().loadForecast().odds().parts().stream()
        .filter(part -> part.times() > 0.9 && part.times() < 1.1)
        .mapToDouble(UsageDistribution.Part::odds)
        .sum();
  }
}
