package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.load.Readings;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.score.Policy;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A GPU of 80 GiB, whose number of replicas changes while a pod runs on it. */
final class EarlierReplicasTest {
  private static final String NODE = "a";
  private static final String UUID = "a0";
  private static final long GIB = FakeWorld.GIB;

  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  /**
   * @param of R that the pod was sized for; 0: a plain request
   */
  private static PodFacts pod(String name, @Nullable String node, int replicas, int of) {
    var annotations = new HashMap<String, String>();
    if (node != null) {
      annotations.put(Names.GPU, UUID);
    }
    if (of > 0) {
      annotations.put(Names.REPLICAS_PER_GPU, Integer.toString(of));
    }
    var request = new Demand.Request("main", Demand.Kind.APP, replicas);
    return new PodFacts(
        name, "ns", name, node, false, node != null, Names.RESOURCE, List.of(request), annotations);
  }

  /**
   * @param grantedOf R that the pod's replicas were granted in
   * @param uses what the pod uses
   */
  private void report(int replicas, int withheld, int held, int grantedOf, long uses) {
    var facts = TestFacts.gpu(UUID, 0, replicas, 80 * GIB, withheld);
    var grant = new NodeState.Grant(grantedOf, grantedOf != replicas);
    var state =
        new NodeState(
            true,
            List.of(facts),
            Map.of("ns/old", Map.of("main", Map.of(UUID, held))),
            true,
            Map.of("ns/old", Map.of(UUID, grant)),
            List.of());
    var reading = Readings.of(uses, 0.1, 0, world.nowMs, Map.of("ns/old", uses), Map.of());
    world.state.reported(
        new Event.Reported(NODE, state, OptionalLong.of(0)), Map.of(UUID, reading));
  }

  private GpuView seenBy(PodFacts pod) {
    return world.evaluator.evaluate(pod, NODE).gpus().getFirst();
  }

  @Test
  void grantOfFewerReplicas_isNotTakenForUseAboveTheGrant() {
    world.see(pod("old", NODE, 1, 2));
    report(10, 5, 1, 2, 40 * GIB);
    GpuView gpu = seenBy(pod("new", null, 5, 10));
    assertThat(gpu.freeReplicas()).isEqualTo(5);
    assertThat(gpu.replicasByMemory()).isEqualTo(5);
    assertThat(gpu.memoryFreeBytes()).isEqualTo(40 * GIB);
  }

  @Test
  void useAboveAGrantOfMoreReplicas_isSeen() {
    world.see(pod("old", NODE, 1, 10));
    report(2, 1, 1, 10, 72 * GIB);
    GpuView gpu = seenBy(pod("new", null, 1, 2));
    assertThat(gpu.freeReplicas()).isEqualTo(1);
    assertThat(gpu.memoryFreeBytes()).isLessThanOrEqualTo(8 * GIB);
    assertThat(gpu.replicasByMemory()).isZero();
  }

  @Test
  void plainPod_isGrantedWhatTheNodeSays() {
    world.see(pod("old", NODE, 1, 0));
    report(10, 5, 1, 2, 40 * GIB);
    GpuView gpu = seenBy(pod("new", null, 5, 10));
    assertThat(gpu.freeReplicas()).isEqualTo(5);
    assertThat(gpu.replicasByMemory()).isEqualTo(5);
    assertThat(world.inspection().nodes().getFirst().gpus().getFirst().formerReplicas())
        .containsEntry("old", 2);
  }

  @Test
  void pendingPod_isWokenWhenANodeHasTheReplicasThatItWasSizedFor() {
    report(20, 0, 1, 20, GIB);
    var pending = pod("new", null, 3, 10);
    world.see(pending);
    world.filter().filter(pending, List.of(NODE), false);
    assertThat(world.waiting.size()).isEqualTo(1);
    wake();
    assertThat(world.woken).isEmpty();
    report(10, 1, 1, 20, GIB);
    wake();
    assertThat(world.woken).containsExactly(NODE);
  }

  private void wake() {
    world.pass(2_000);
  }
}
