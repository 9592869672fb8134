package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.process.Heap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What one call of kube-scheduler leaves to the garbage collector, in a large cluster. */
final class FilterGarbageTest {
  private static final int NODES = 5_000;
  private static final int BYTES_MAX = 100_000;

  /** The compiler needs a few hundred. */
  private static final int CALLS_MAX = 5_000;

  private final List<String> names = IntStream.range(0, NODES).mapToObj(i -> "n" + i).toList();

  @ParameterizedTest
  @CsvSource({"load, 5, refused", "load, 3, fits", "packed, 5, refused", "packed, 3, fits"})
  void call_leavesLittle_inALargeCluster(String policy, int replicasOfEach, String outcome) {
    FakeWorld world = cluster(Policy.parse(policy).orElseThrow(), replicasOfEach);
    FakeWorld.FilterNow filter = world.filter();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < CALLS_MAX && least > BYTES_MAX; i++) {
      PodFacts pod = FakeWorld.pod("p" + i, 3);
      long before = Heap.allocatedBytes();
      Filter.Answer answer = filter.filter(pod, names, false);
      least = Math.min(least, Heap.allocatedBytes() - before);
      assertThat(((Filter.Answer.Nodes) answer).nodes())
          .hasSize(outcome.equals("fits") ? NODES : 0);
      world.state.apply(new Event.Release(pod.uid()));
    }
    assertThat(least).isLessThan(BYTES_MAX);
  }

  /** That a node had no temporary hold is remembered until the node changes. */
  @Test
  void refusal_isNotFinal_onceAPodOfTheNodeTerminates() {
    var world = new FakeWorld(Policy.LOAD);
    world.report("a", new Gpu("a0", 0.2, 0));
    PodFacts holder = FakeWorld.pod("x", 10, "tranche.dev/gpu=a0").on("a");
    world.see(holder);
    FakeWorld.FilterNow filter = world.filter();
    PodFacts pod = FakeWorld.pod("p", 3);
    assertThat(filter.filter(pod, List.of("a"), false)).isInstanceOf(Filter.Answer.Nodes.class);
    var terminating = new PreemptionInfo(0, Map.of(), 1, true, null);
    world.see(holder.with(terminating));
    assertThat(filter.filter(pod, List.of("a"), false)).isInstanceOf(Filter.Answer.Undecided.class);
    world.nowMs += 2 * Timing.DEFAULT.terminatingMs();
    world.report("a", new Gpu("a0", 0.2, 0));
    assertThat(filter.filter(pod, List.of("a"), false)).isInstanceOf(Filter.Answer.Nodes.class);
  }

  /** Each node has two GPUs, and each GPU is held by two pods. */
  private FakeWorld cluster(Policy policy, int replicasOfEach) {
    var world = new FakeWorld(policy);
    for (String node : names) {
      world.packing.hosts.node(node, new HostRequest(64_000, 256_000));
      world.report(node, new Gpu(node + "-0", 0.2, 0), new Gpu(node + "-1", 0.2, 0));
      for (String pod : List.of("0-x", "0-y", "1-x", "1-y")) {
        String gpu = node + "-" + pod.charAt(0);
        PodFacts facts = FakeWorld.pod(node + "-" + pod, replicasOfEach, "tranche.dev/gpu=" + gpu);
        world.see(facts.on(node));
      }
    }
    return world;
  }
}
