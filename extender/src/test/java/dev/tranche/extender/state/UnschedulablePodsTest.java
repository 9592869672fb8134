package dev.tranche.extender.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.process.Heap;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How much one turn of the clock may try, and that nobody is left out. */
final class UnschedulablePodsTest {
  private static final long GIB = FakeWorld.GIB;
  private static final List<String> NODES = IntStream.range(0, 5).mapToObj(i -> "n" + i).toList();

  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final FakeWorld.FilterNow filter = world.filter();

  /** The pods that were tried, one for each kind and node. */
  private final List<String> tried = new ArrayList<>();

  @Test
  void turn_isBoundedByTime_andTheNextGoesOnWhereItStopped() {
    rejectOnAllNodes(8, true);
    ease();
    world.stepMs = UnschedulablePods.WITHIN_MS / 2;
    int turns = 0;
    for (int before = -1; before < tried.size(); turns++) {
      before = tried.size();
      wake();
      assertThat(tried.size() - before).isLessThanOrEqualTo(2);
    }
    assertThat(tried).hasSize(8 * NODES.size());
    assertThat(tried.subList(0, 8)).doesNotHaveDuplicates();
    assertThat(turns).isGreaterThan(4 * NODES.size());
    assertThat(world.waiting.untriedNodes()).isZero();
  }

  /** Thousands of names for each of them would be 50 MiB. */
  @Test
  void aThousandPodsThatThousandsOfNodesRefuse_keepNoNames() {
    List<String> names = IntStream.range(0, 5_000).mapToObj(i -> "node-" + i).toList();
    names.forEach(name -> world.report(name, new Gpu(name + "-0", 0, 0)));
    filter.filter(FakeWorld.pod("first", 20), names, false);
    long before = Heap.usedBytes();
    for (int i = 0; i < UnschedulablePods.PODS_MAX; i++) {
      filter.filter(FakeWorld.pod("p" + i, 20), names, false);
    }
    assertThat(world.waiting.size()).isEqualTo(UnschedulablePods.PODS_MAX);
    assertThat(Heap.usedBytes() - before).isLessThan(8 << 20);
  }

  @Test
  void turn_withASlowClock_stillGoesOn() {
    rejectOnAllNodes(3, true);
    ease();
    world.stepMs = 10 * UnschedulablePods.WITHIN_MS;
    for (int i = 0; i < 3 * NODES.size(); i++) {
      wake();
      assertThat(tried).hasSize(i + 1);
    }
  }

  @Test
  void podsThatAskTheSame_areTriedOnceForANode_andAllWoken() {
    rejectOnAllNodes(50, false);
    ease();
    wake();
    assertThat(tried).hasSize(NODES.size());
    world.report("n3", new Gpu("n30", 0, 0));
    wake();
    assertThat(tried).hasSize(NODES.size() + 1);
    assertThat(world.woken).containsExactly("n3");
    world.nowMs += UnschedulablePods.BETWEEN_MS;
    wake();
    assertThat(world.waiting.size()).isZero();
  }

  @Test
  void podsThatAreFoundBeforeTheTimeIsUp_areWoken_andTheOthersAreTriedLater() {
    rejectOnAllNodes(8, true);
    world.report("n0", new Gpu("n00", 0, 0));
    world.stepMs = UnschedulablePods.WITHIN_MS / 2;
    wake();
    assertThat(world.woken).containsExactly("n0");
    world.nowMs += UnschedulablePods.BETWEEN_MS;
    wake();
    assertThat(world.waiting.size()).isEqualTo(6);
    world.nowMs += UnschedulablePods.BETWEEN_MS;
    wake();
    assertThat(world.waiting.size()).isEqualTo(4);
  }

  /**
   * The hold of a nominated pod counts against no pod of higher priority, in Filter. It must count
   * as little when such a pod is tried again.
   */
  @Test
  void podOfHigherPriorityThanANominatedOne_isWokenWhenMemoryIsFreed() {
    world.report("n0", new Gpu("n00", 0, 10 * GIB));
    PodFacts nominated = FakeWorld.pod("nominated", 8).with(priority(100, "n0"));
    var place =
        Placement.of(
            List.of(new Placement.Container("main", List.of(new Placement.Share("n00", 8)))));
    world.see(nominated);
    world.state.apply(new Event.Nominate(nominated, Map.of("n0", place), "n0"));
    for (int priority : new int[] {0, 1_000}) {
      PodFacts pod = FakeWorld.pod("p" + priority, 8).with(priority(priority, null));
      world.see(pod);
      filter.filter(pod, List.of("n0"), false);
    }
    ease("n0");
    wake();
    assertThat(world.woken).containsExactly("n0");
    world.nowMs += UnschedulablePods.BETWEEN_MS;
    wake();
    assertThat(world.waiting.contains("p1000")).isFalse();
    assertThat(world.waiting.contains("p0")).isTrue();
  }

  private static PreemptionInfo priority(int priority, @Nullable String nominatedNode) {
    return new PreemptionInfo(priority, Map.of(), 0, false, nominatedNode);
  }

  /** Each wake-up is a write, and has kube-scheduler retry all pending pods. */
  @Test
  void nodeWhoseMemoryComesAndGoes_wakesPodsAtARate_andDelaysNoOtherNode() {
    for (int second = 0; second < 300; second++) {
      reject("n0");
      ease("n0");
      world.pass(1_000);
    }
    // A burst of ten, and one in ten seconds.
    assertThat(world.woken).hasSizeBetween(35, 45).containsOnly("n0");
    reject("n0");
    reject("n1");
    ease("n0");
    ease("n1");
    world.pass(1_000);
    assertThat(world.woken).contains("n1");
  }

  private void reject(String node) {
    world.report(node, new Gpu(node + "0", 0, 10 * GIB));
    filter.filter(FakeWorld.pod("p-" + node, 3), List.of(node), false);
  }

  private void ease(String node) {
    world.report(node, new Gpu(node + "0", 0, 0));
  }

  private void wake() {
    world.waiting.wake(this::policy, node -> true, this::patch);
  }

  private Policy policy(PodFacts pod) {
    tried.add(pod.uid());
    return Policy.LOAD;
  }

  private Future<?> patch(String node) {
    world.woken.add(node);
    return Future.succeededFuture();
  }

  private void rejectOnAllNodes(int pods, boolean different) {
    NODES.forEach(node -> world.report(node, new Gpu(node + "0", 0, 10 * GIB)));
    for (int i = 0; i < pods; i++) {
      String annotation = "tranche.dev/gpu-model=!A" + (different ? i : 0);
      filter.filter(FakeWorld.pod("p" + i, 3, annotation), NODES, false);
    }
    assertThat(world.waiting.size()).isEqualTo(pods);
  }

  /** More memory is free than before, and still not enough. */
  private void ease() {
    NODES.forEach(node -> world.report(node, new Gpu(node + "0", 0, 9 * GIB)));
  }
}
