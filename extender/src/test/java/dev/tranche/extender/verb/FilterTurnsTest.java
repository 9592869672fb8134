package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.Turn;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.extender.verb.Filter.Answer;
import io.vertx.core.Future;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How the work of a filter call is divided into turns of the loop. */
final class FilterTurnsTest {
  private static final int NODES = 300;

  /** A node's snapshot, and how the pod fits it. */
  private static final int EACH = 2;

  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final List<String> names = new ArrayList<>();

  /** What the loop still has to do. */
  private final Deque<Runnable> later = new ArrayDeque<>();

  private final Filter filter = world.filter(0, later::add);

  /** Before, a new kind of pod held the loop for all nodes: 50 ms for 5,000. */
  @Test
  void turns_areShort_andTheAnswerIsThatOfOneTurn() {
    nodes();
    var answer = begin(pod("p", 3));
    int turns = 1;
    long before = 0;
    while (!later.isEmpty()) {
      assertThat(answer.isComplete()).isFalse();
      assertThat(computed() - before).isLessThanOrEqualTo(EACH * (Turn.MS_MAX + 1));
      before = computed();
      later.remove().run();
      turns++;
    }
    assertThat(turns).isGreaterThan((int) (NODES / (Turn.MS_MAX + 1)));
    assertThat(fitting(answer)).containsExactlyElementsOf(names);
    assertThat(answer.result()).isEqualTo(world.filter().filter(pod("q", 3), names, false));
  }

  @Test
  void nodesThatChangeMeanwhile_areEvaluatedAgain() {
    nodes();
    var answer = begin(pod("p", 8));
    for (int turn = 0; !later.isEmpty(); turn++) {
      if (turn == 30) {
        bound("full", 10, names.getFirst());
        bound("half", 5, names.getLast());
      }
      later.remove().run();
    }
    assertThat(fitting(answer)).hasSize(NODES - 2).doesNotContain("n0", "n" + (NODES - 1));
  }

  /** A pod that fits nowhere, while each node has a hold that may end: all are evaluated twice. */
  @Test
  void holdsThatMayEnd_areLookedAtInTurns() {
    int count = 100;
    nodes(count);
    for (String node : names) {
      bound("of-" + node, 5, node);
      world.state.apply(new Event.Reserve(pod("soon-" + node, 1), node, on(node)));
    }
    PodFacts pod = pod("p", 8);
    var answer = begin(pod);
    int turns = 0;
    while (!later.isEmpty()) {
      long beforeMs = world.nowMs;
      later.remove().run();
      // So many looks at the clock, one for each node: the rest are of what is cached.
      assertThat(world.nowMs - beforeMs).isLessThan(2L * count);
      turns++;
      assertThat(turns).isLessThan(3 * count);
    }
    assertThat(turns).isGreaterThan((int) (2L * count / (Turn.MS_MAX + 1)));
    assertThat(answer.result()).isInstanceOf(Answer.Nodes.class);
    assertThat(fitting(answer)).isEmpty();
    assertThat(world.explanations.cause(pod.uid())).isPresent();
  }

  @Test
  void calls_areDecidedOneAfterTheOther() {
    nodes();
    var first = begin(pod("p", 3));
    var second = filter.inTurns(pod("q", 3), names, false, "");
    while (!first.isComplete()) {
      assertThat(later).hasSize(1);
      assertThat(second.isComplete()).isFalse();
      later.remove().run();
    }
    runAll();
    assertThat(fitting(second)).hasSize(NODES);
  }

  @Test
  void callThatTakesTooLong_isTriedAgain() {
    nodes();
    world.stepMs = NodeEvaluator.DECIDE_WITHIN_MS / 10;
    var answer = filter.inTurns(pod("p", 3), names, false, "");
    runAll();
    assertThat(answer.result()).isEqualTo(new Answer.Undecided(NodeEvaluator.LATE));
  }

  /** Nodes report all the time: the search must not begin again and again. */
  @Test
  void nodesThatGoOnChanging_doNotKeepTheCallFromItsAnswer() {
    nodes();
    var answer = begin(pod("p", 3));
    for (int turn = 0; !later.isEmpty(); turn++) {
      if (turn % 4 == 0) {
        bound("b" + turn, 1, names.get(turn % NODES));
      }
      later.remove().run();
      assertThat(turn).isLessThan(4 * NODES);
    }
    assertThat(fitting(answer)).hasSize(NODES);
  }

  private Future<Answer> begin(PodFacts pod) {
    world.stepMs = 1;
    return filter.inTurns(pod, names, false, "");
  }

  private void runAll() {
    while (!later.isEmpty()) {
      later.remove().run();
    }
  }

  private long computed() {
    return world.evaluations.computed();
  }

  private void nodes() {
    nodes(NODES);
  }

  private void nodes(int count) {
    for (int n = 0; n < count; n++) {
      names.add("n" + n);
      world.report("n" + n, new Gpu("n" + n + "-gpu", 0, 0));
    }
  }

  private static List<String> fitting(Future<Answer> answer) {
    return ((Answer.Nodes) answer.result()).nodes();
  }

  private static PodFacts pod(String name, int replicas) {
    return FakeWorld.pod(name, replicas);
  }

  private void bound(String name, int replicas, String node) {
    world.see(FakeWorld.pod(name, replicas, "tranche.dev/gpu=" + node + "-gpu").on(node));
  }

  private static Placement on(String node) {
    return new Placement(List.of(), Map.of(node + "-gpu", 1));
  }
}
