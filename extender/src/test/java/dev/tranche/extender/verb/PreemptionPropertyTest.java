package dev.tranche.extender.verb;

import static dev.tranche.extender.verb.PreemptionScene.without;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.Preempt.Answer;
import dev.tranche.extender.verb.Preempt.VictimUids;
import dev.tranche.extender.verb.PreemptionScene.Node;
import dev.tranche.extender.verb.PreemptionScene.Pod;
import dev.tranche.process.fuzz.Seeds;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random nodes, pods and preemptors against a model of kube-scheduler's dry run. */
final class PreemptionPropertyTest {
  private static final int RUNS = 300;

  /** Policy {@code packed} knows the requests of all pods, {@code load} only those of GPU pods. */
  @ParameterizedTest
  @EnumSource(names = {"LOAD", "PACKED"})
  void whomTheDryRunWouldLetRun_runs_andNobodyGoesInVain(Policy policy) {
    int preempted = 0;
    long[] seeds = Seeds.of(RUNS);
    for (long seed : seeds) {
      RandomGenerator random = Seeds.random(seed);
      Node node = PreemptionScene.nodes(random, "a").getFirst();
      Pod urgent = PreemptionScene.urgent(random);
      VictimUids offered = node.dryRun(urgent);
      if (!offered.uids().isEmpty()) {
        preempted++;
        check(
            "%s, seed %d: %s on %s, offered %s".formatted(policy, seed, urgent, node, offered),
            policy,
            node,
            urgent,
            offered);
      }
    }
    assertThat(preempted).isGreaterThanOrEqualTo(seeds.length / 10);
  }

  private static void check(String as, Policy policy, Node node, Pod urgent, VictimUids offered) {
    FakeWorld world = PreemptionScene.world(policy, List.of(node), p -> true);
    var lower = new HashSet<String>();
    node.pods().stream()
        .filter(p -> p.priority() < urgent.priority() && p.gpu() >= 0)
        .forEach(p -> lower.add(p.uid()));
    lower.addAll(offered.uids());
    var answer =
        (Answer.Nodes)
            world.preempt().preempt(urgent.facts(), Map.of(node.name(), offered)).result();
    VictimUids victims = answer.victims().get(node.name());
    if (victims == null) {
      assertThat(node.hasGpuFor(urgent, without(lower))).as(as).isFalse();
      return;
    }
    var gone = new HashSet<>(victims.uids());
    assertThat(lower).as(as).containsAll(gone);
    assertThat(node.lets(urgent, without(gone))).as("%s: %s go", as, gone).isTrue();
    assertThat(node.hasGpuFor(urgent, without(gone))).as("%s: %s go", as, gone).isTrue();
    for (Pod pod : spareable(policy, node, urgent, offered, gone)) {
      Predicate<Pod> present = p -> !gone.contains(p.uid()) || p.equals(pod);
      assertThat(node.lets(urgent, present) && node.hasGpuFor(urgent, present))
          .as("%s: %s go, and %s in vain", as, gone, pod.uid())
          .isFalse();
    }
    runs(as, world, node, urgent, gone);
  }

  /**
   * Returns the victims that must not be there in vain. Others are victims in doubt: an offered one
   * may be in the way of a filter that the extender does not know. Without policy {@code packed} it
   * does not know what a node has left either.
   */
  static List<Pod> spareable(
      Policy policy, Node node, Pod urgent, VictimUids offered, Set<String> gone) {
    if (policy != Policy.PACKED && (urgent.cpu() > 0 || urgent.memory() > 0)) {
      return List.of();
    }
    return node.pods().stream()
        .filter(pod -> gone.contains(pod.uid()))
        .filter(
            pod ->
                !offered.uids().contains(pod.uid())
                    || (pod.gpu() >= 0 && !pod.constrained() && !urgent.constrained()))
        .toList();
  }

  /** Filter lets the pod run on the node when the victims are gone. */
  static void runs(String as, FakeWorld world, Node node, Pod urgent, Set<String> gone) {
    gone.forEach(uid -> world.state.apply(new Event.PodGone(uid, "ns/" + uid)));
    assertThat(world.filter().filter(urgent.facts(), List.of(node.name()), false))
        .as(as)
        .isEqualTo(new Filter.Answer.Nodes(List.of(node.name()), Map.of()));
  }
}
