package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.Turn;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.extender.verb.Preempt.Answer;
import dev.tranche.extender.verb.Preempt.VictimUids;
import io.vertx.core.Future;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The work of a preemption, and how it is divided into turns of the loop. */
final class PreemptTurnsTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final Preempt preempt = world.preempt();

  /** What the loop still has to do. */
  private final Deque<Runnable> later = new ArrayDeque<>();

  @BeforeEach
  void budgets() {
    world.budgets.listed();
  }

  /** Half a second before: each of them was evaluated 180 times. */
  @Test
  void hundredNodesOfEightyPods_costLittleWork() {
    var offered = new HashMap<String, VictimUids>();
    for (int n = 0; n < Preempt.NODES_MAX; n++) {
      offered.put("n" + n, new VictimUids(fill("n" + n, 8, 1), 0));
    }
    assertThat(victims(urgent(5), offered)).hasSize(Preempt.NODES_MAX);
    assertThat(work()).isPositive().isLessThan(Preempt.WORK_MAX);
  }

  /** Before, all hundred nodes held the loop at once. */
  @Test
  void turns_areShort_andTheAnswerIsThatOfOneTurn() {
    var offered = new HashMap<String, VictimUids>();
    for (int n = 0; n < Preempt.NODES_MAX; n++) {
      offered.put("n" + n, new VictimUids(fill("n" + n, 8, 1), 0));
    }
    var inTurns = world.preempt(later::add).preempt(urgent(5), offered);
    long before = 0;
    int turns = 1;
    long oneNode = 8 * 81;
    while (!later.isEmpty()) {
      assertThat(inTurns.isComplete()).isFalse();
      assertThat(work() - before).isLessThan(Turn.WORK_MAX + oneNode);
      before = work();
      later.remove().run();
      turns++;
    }
    assertThat(work() - before).isLessThan(Turn.WORK_MAX + oneNode);
    assertThat(turns).isGreaterThan(10);
    assertThat(inTurns.result()).isInstanceOf(Answer.Nodes.class);
    assertThat(((Answer.Nodes) inTurns.result()).victims()).hasSize(Preempt.NODES_MAX);
  }

  /** One node can take longer than a turn as well: by what its pods' budgets are compared with. */
  @Test
  void budgetsOfManyValues_areComparedInTurns() {
    var values = IntStream.range(0, 250).mapToObj(i -> "v" + i).collect(Collectors.toSet());
    for (int i = 0; i < 10; i++) {
      var in = new Budget.Requirement("app", "NotIn", values);
      world.budgets.put(new Budget("ns", "b" + i, List.of(in), 0, Set.of()));
    }
    List<String> scattered = fill("n", 8, 1);
    var inTurns =
        world.preempt(later::add).preempt(urgent(5), Map.of("n", new VictimUids(scattered, 0)));
    int turns = 0;
    long before = work();
    while (!later.isEmpty()) {
      later.remove().run();
      assertThat(work() - before).isLessThan(Turn.WORK_MAX + 10 * 252);
      before = work();
      turns++;
    }
    assertThat(turns).isGreaterThan(20);
    assertThat(((Answer.Nodes) inTurns.result()).victims().get("n"))
        .isEqualTo(victims(urgent(5), Map.of("n", new VictimUids(scattered, 0))).get("n"));
  }

  @Test
  void whatChangesBetweenTurns_isInTheAnswer() {
    var offered = new LinkedHashMap<String, VictimUids>();
    for (int n = 0; n < 20; n++) {
      offered.put("n" + n, new VictimUids(fill("n" + n, 8, 1), 0));
    }
    var answer = world.preempt(later::add).preempt(urgent(10), offered);
    later.remove().run();
    assertThat(answer.isComplete()).isFalse();
    // Pods of higher priority come to all GPUs but one of a node that was looked at.
    for (int gpu = 0; gpu < 7; gpu++) {
      bound("high-" + gpu, 1, "n0", "n0-" + gpu, 100);
    }
    runAll();
    assertThat(((Answer.Nodes) answer.result()).victims()).hasSize(20);
    assertThat(uids(answer, "n0")).hasSize(10).allMatch(uid -> uid.startsWith("n0-7-"));
  }

  private void runAll() {
    while (!later.isEmpty()) {
      later.remove().run();
    }
  }

  @Test
  void nodeThatChangesInEachTurn_isLeftOut_andTheOthersAreAnswered() {
    var offered = new LinkedHashMap<String, VictimUids>();
    for (int n = 0; n < 20; n++) {
      offered.put("n" + n, new VictimUids(fill("n" + n, 8, 1), 0));
    }
    var answer = world.preempt(later::add).preempt(urgent(5), offered);
    for (int i = 0; !later.isEmpty(); i++) {
      bound("r" + i, 1, "n3", "n3-0", 100);
      later.remove().run();
    }
    assertThat(((Answer.Nodes) answer.result()).victims().keySet()).contains("n0", "n19");
  }

  @Test
  void calls_areDecidedOneAfterTheOther() {
    var offered = Map.of("n", new VictimUids(fill("n", 32, 1), 0));
    Preempt inTurns = world.preempt(later::add);
    var first = inTurns.preempt(urgent(5), offered);
    var second = inTurns.preempt(pod("other", 5, 50), offered);
    while (!later.isEmpty()) {
      assertThat(later).hasSize(1);
      assertThat(second.isComplete()).isFalse();
      later.remove().run();
    }
    var gone = new HashSet<>(uids(first, "n"));
    assertThat(uids(second, "n")).isNotEmpty().doesNotContainAnyElementsOf(gone);
  }

  @Test
  void callThatTakesTooLong_isTriedAgain() {
    var offered = Map.of("n", new VictimUids(fill("n", 8, 1), 0));
    Preempt inTurns = world.preempt(later::add);
    world.stepMs = NodeEvaluator.DECIDE_WITHIN_MS;
    var answer = inTurns.preempt(urgent(5), offered);
    runAll();
    assertThat(answer.result()).isEqualTo(new Answer.Undecided(NodeEvaluator.LATE));
  }

  @Test
  void work_isBounded_whateverTheNodesAre() {
    var offered = new HashMap<String, VictimUids>();
    int nodes = 30;
    for (int n = 0; n < nodes; n++) {
      offered.put("n" + n, new VictimUids(fill("n" + n, 32, 1), 0));
    }
    assertThat(victims(urgent(5), offered).size()).isBetween(1, nodes - 1);
    int lastNode = 32 * 32 * 10 * 10;
    assertThat(work()).isLessThan(Preempt.WORK_MAX + lastNode);
  }

  private static List<String> uids(Future<Answer> answer, String node) {
    return ((Answer.Nodes) answer.result()).victims().getOrDefault(node, offered()).uids();
  }

  private long work() {
    return (long) world.registry.counter("tranche.extender.preempt.work").count();
  }

  /** Fills a node with pods, and returns some whose replicas are scattered over its GPUs. */
  private List<String> fill(String node, int gpus, int replicas) {
    world.report(
        node,
        IntStream.range(0, gpus)
            .mapToObj(gpu -> new Gpu(node + "-" + gpu, 0, 0))
            .toArray(Gpu[]::new));
    for (int gpu = 0; gpu < gpus; gpu++) {
      for (int i = 0; i < 10 / replicas; i++) {
        bound(node + "-" + gpu + "-" + i, replicas, node, node + "-" + gpu, i % 3);
      }
    }
    return IntStream.range(0, 5).mapToObj(gpu -> node + "-" + gpu + "-0").toList();
  }

  private Map<String, VictimUids> victims(PodFacts pod, Map<String, VictimUids> offered) {
    return ((Answer.Nodes) preempt.preempt(pod, offered).result()).victims();
  }

  private static VictimUids offered() {
    return new VictimUids(List.of(), 0);
  }

  private static PodFacts urgent(int replicas) {
    return pod("urgent", replicas, 50);
  }

  private static PodFacts pod(String name, int replicas, int priority) {
    return FakeWorld.pod(name, replicas)
        .with(new PreemptionInfo(priority, Map.of(), 1, false, null));
  }

  private void bound(String name, int replicas, String node, String gpu, int priority) {
    var preemption = new PreemptionInfo(priority, Map.of(), 1, false, null);
    world.see(FakeWorld.pod(name, replicas, "tranche.dev/gpu=" + gpu).with(preemption).on(node));
  }
}
