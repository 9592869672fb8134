package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitReason;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.Exclusion;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What-if says what the verbs then do. */
final class WhatIfTest {
  private FakeWorld world = new FakeWorld(Policy.LOAD);
  private FakeWorld.FilterNow filter = world.filter();

  private WhatIf.Answer ask(PodFacts pod, int count) {
    return world.foretold(pod, node -> Optional.empty(), count);
  }

  private List<String> nodes() {
    return List.copyOf(world.ledger.nodes());
  }

  private static Gpu[] gpus(RandomGenerator random, String node) {
    var gpus = new Gpu[1 + random.nextInt(4)];
    for (int i = 0; i < gpus.length; i++) {
      gpus[i] = new Gpu(node + i, random.nextInt(10) / 10.0, random.nextInt(5) * FakeWorld.GIB);
    }
    return gpus;
  }

  private static PodFacts pod(RandomGenerator random, int number) {
    var annotations = new ArrayList<String>();
    if (random.nextInt(4) == 0) {
      annotations.add("tranche.dev/gpu-placement=spread");
    }
    if (random.nextInt(10) == 0) {
      annotations.add("tranche.dev/gpu-model=A100");
    }
    return FakeWorld.pod("p" + number, 1 + random.nextInt(9), annotations.toArray(new String[0]));
  }

  /** The hold that filter and prioritize made; empty where they refuse. */
  private Optional<Hold> decided(PodFacts pod, boolean hasNodePreferences) {
    var answer = filter.filter(pod, nodes(), hasNodePreferences);
    if (answer instanceof Filter.Answer.Nodes(var fitting, var refused) && !fitting.isEmpty()) {
      if (fitting.size() > 1) {
        world.prioritize().prioritize(pod, fitting);
      }
    }
    return world.ledger.hold(pod.uid());
  }

  /** Each look at the clock takes a millisecond here, and every node needs at least one. */
  @Test
  void aQuestion_takesTheLoopForAFewMillisecondsAtATime() {
    world.report("free", new Gpu("free-0", 0, 0));
    for (int i = 0; i < 200; i++) {
      world.report("n" + i, new Gpu("n" + i + "-0", 0, 0));
      PodFacts other = FakeWorld.pod("other" + i, 10);
      var share = new Placement.Share("n" + i + "-0", 10);
      var main = new Placement.Container("main", List.of(share));
      world.state.apply(new Event.Reserve(other, "n" + i, Placement.of(List.of(main))));
      world.see(bound(other, world.ledger.hold(other.uid()).orElseThrow()));
    }
    var turns = new ArrayList<Long>();
    var measured =
        new WhatIf.OnLoop() {
          @Override
          public <T> T call(Supplier<T> work) {
            long beganMs = world.nowMs;
            T result = work.get();
            turns.add(world.nowMs - beganMs);
            return result;
          }
        };
    world.stepMs = 1;
    PodFacts pod = FakeWorld.pod("p", 3);
    List<String> names = nodes();
    var found = new ArrayList<NodeSnapshot>();
    for (int next = 0; next < names.size(); ) {
      int from = next;
      next = measured.call(() -> world.evaluator.addSnapshots(pod, names, from, found));
    }
    WhatIf.Answer answer =
        world
            .whatIf()
            .answer(
                new WhatIf.Question(pod, HostRequest.NONE, node -> Optional.empty(), found, 20),
                measured);
    assertThat(answer.places()).hasSize(3);
    assertThat(turns).hasSizeGreaterThan(40).allMatch(ms -> ms <= 20);
  }

  static LongStream seeds() {
    return LongStream.of(Seeds.of(4));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void whatIsForetold_isWhatTheVerbsThenDecide(long seed) {
    RandomGenerator random = Seeds.random(seed);
    boolean hasNodePreferences = random.nextBoolean();
    for (int node = 0; node < 12; node++) {
      world.report("n" + node, gpus(random, "n" + node + "-"));
    }
    int refused = 0;
    for (int i = 0; i < 100; i++) {
      PodFacts pod = pod(random, i);
      world.see(pod);
      WhatIf.Answer foretold = ask(pod, 1);
      Inspection before = world.inspection();
      assertThat(ask(pod, 1)).as("asked twice").usingRecursiveComparison().isEqualTo(foretold);
      assertThat(world.inspection().nodes()).as("nothing is held").isEqualTo(before.nodes());

      Optional<Hold> hold = decided(pod, hasNodePreferences);
      assertThat(hold.map(Hold::node))
          .as("pod %d", i)
          .isEqualTo(foretold.places().stream().findFirst().map(place -> place.fit().node()));
      assertThat(hold.map(Hold::held))
          .isEqualTo(foretold.places().stream().findFirst().map(p -> p.placement().held()));
      refused += hold.isPresent() ? 0 : 1;
      hold.ifPresent(h -> world.see(bound(pod, h)));
      world.nowMs += 200;
    }
    assertThat(refused).isBetween(1, 99);
  }

  private static PodFacts bound(PodFacts pod, Hold hold) {
    var annotations = new java.util.HashMap<>(pod.annotations());
    annotations.put("tranche.dev/gpu", String.join(",", hold.held().keySet()));
    return TestFacts.running(
        TestFacts.pod(
            pod.name(), hold.node(), annotations, pod.requests().toArray(new Demand.Request[0])));
  }

  /** Each of N sees those before it as the verbs would, with their load that is not measured. */
  @ParameterizedTest
  @MethodSource("seeds")
  void asManyFit_asTheVerbsThenPlace(long seed) {
    RandomGenerator random = Seeds.random(seed);
    int replicas = random.nextInt(1, 6);
    for (int node = 0; node < 8; node++) {
      world.report("n" + node, gpus(random, "n" + node + "-"));
    }
    WhatIf.Answer foretold = ask(FakeWorld.pod("p", replicas), WhatIf.COUNT_MAX);
    var decided = new ArrayList<String>();
    for (int i = 0; i < WhatIf.COUNT_MAX; i++) {
      Optional<Hold> hold = decided(FakeWorld.pod("p" + i, replicas), true);
      if (hold.isEmpty()) {
        break;
      }
      decided.add(hold.get().node() + " " + hold.get().held());
    }
    assertThat(foretold.late()).isFalse();
    assertThat(foretold.places())
        .extracting(place -> place.fit().node() + " " + place.placement().held())
        .isEqualTo(decided)
        .isNotEmpty();
    assertThat(foretold.refused().count()).isEqualTo(8);
  }

  @Test
  void packed_isForetoldWithoutCountingThePod() {
    world = new FakeWorld(Policy.PACKED);
    filter = world.filter();
    world.report("a", new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
    world.report("b", new Gpu("b0", 0, 0));
    world.see(FakeWorld.pod("held", 3, "tranche.dev/gpu=a0").on("a"));
    int shapes = world.packing.shapes();
    WhatIf.Answer foretold = ask(FakeWorld.pod("p", 7), 1);
    assertThat(world.packing.shapes()).isEqualTo(shapes);
    assertThat(foretold.policy()).isEqualTo(Policy.PACKED);
    assertThat(decided(FakeWorld.pod("p", 7), false).map(Hold::held))
        .contains(foretold.places().getFirst().placement().held());
  }

  @Test
  void nodesThatThePodExcludes_areCountedAndNotJudged() {
    world.report("a", new Gpu("a0", 0, 0));
    world.report("b", new Gpu("b0", 0, 0));
    WhatIf.Answer answer =
        world.foretold(
            FakeWorld.pod("p", 3),
            node -> node.equals("a") ? Optional.of(Exclusion.TAINTS) : Optional.empty(),
            1);
    assertThat(answer.nodes().excluded()).containsEntry(Exclusion.TAINTS, 1);
    assertThat(answer.places().getFirst().fit().node()).isEqualTo("b");
  }

  @Test
  void questionsThatFitNowhere_leaveWhatTheVerbsRemember() {
    world.report("a", new Gpu("a0", 0, 0));
    PodFacts pod = FakeWorld.pod("p", 3);
    NodeFit known = world.evaluator.evaluate(pod, "a");
    for (int i = 0; i < 30; i++) {
      assertThat(ask(FakeWorld.pod("q", 3, "tranche.dev/gpu-model=M" + i), 1).places()).isEmpty();
    }
    assertThat(world.evaluator.evaluate(pod, "a")).isSameAs(known);
  }

  /** Filter does not refuse the pod either: kube-scheduler would evict pods of other nodes. */
  @Test
  void nodeInBackoff_isNoRefusalForGood() {
    world.report("a", new Gpu("a0", 0, 0));
    world.report("b", new Gpu("b0", 0, 0));
    world.see(FakeWorld.pod("held", 9, "tranche.dev/gpu=b0").on("b"));
    world.state.apply(new Event.Unacknowledged("a", world.nowMs));
    PodFacts pod = FakeWorld.pod("p", 9);
    WhatIf.Answer answer = ask(pod, 1);
    assertThat(answer.places()).isEmpty();
    assertThat(filter.filter(pod, nodes(), true)).isInstanceOf(Filter.Answer.Undecided.class);
    assertThat(answer.waits().orElseThrow())
        .satisfies(cause -> assertThat(cause.reason()).isEqualTo(WaitReason.NOT_ACKNOWLEDGING))
        .satisfies(cause -> assertThat(cause.whatToDo()).contains("Nothing is wrong with the pod"));
  }

  /** As explain says of a pod that waits for such room. */
  @Test
  void roomThatIsHeldForAPodBeingScheduled_isTaken() {
    world.report("a", new Gpu("a0", 0, 0));
    decided(FakeWorld.pod("first", 9), true);
    WhatIf.Answer answer = ask(FakeWorld.pod("second", 9), 1);
    assertThat(answer.waits().map(WaitCause::reason)).contains(WaitReason.FULL);
  }
}
