package dev.tranche.extender.verb;

import static dev.tranche.extender.verb.PreemptionScene.without;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.Preempt.Answer;
import dev.tranche.extender.verb.Preempt.VictimUids;
import dev.tranche.extender.verb.PreemptionScene.Node;
import dev.tranche.extender.verb.PreemptionScene.Pod;
import dev.tranche.extender.verb.SchedulerDryRun.Offer;
import dev.tranche.process.fuzz.Seeds;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random nodes, pods and preemptors against kube-scheduler's own filters and dry run. */
@Tag("slow")
final class PreemptionDryRunIT {
  private static final int SCENES = 60;

  private static final VictimUids NONE = new VictimUids(List.of(), 0);

  @AutoClose private static SchedulerDryRun scheduler;

  @BeforeAll
  static void start() throws Exception {
    scheduler = SchedulerDryRun.start();
  }

  /** {@link PreemptionPropertyTest} relies on it. */
  @Test
  void model_proposesTheSameVictims() {
    int preempted = 0;
    long[] seeds = Seeds.of(SCENES);
    for (long seed : seeds) {
      RandomGenerator random = Seeds.random(seed);
      List<Node> nodes = PreemptionScene.nodes(random, "a", "b");
      Pod urgent = PreemptionScene.urgent(random);
      Offer offer = scheduler.offer(nodes, urgent, p -> true);
      for (Node node : nodes) {
        String as = "seed %d: %s on %s".formatted(seed, urgent, node);
        boolean fits = node.lets(urgent, p -> true);
        assertThat(fits).as(as).isEqualTo(offer.fits().contains(node.name()));
        VictimUids modelled = node.dryRun(urgent);
        VictimUids offered = offer.victims().getOrDefault(node.name(), NONE);
        assertThat(sorted(modelled)).as(as).isEqualTo(sorted(offered));
        preempted += offered.uids().isEmpty() ? 0 : 1;
      }
    }
    assertThat(preempted).isGreaterThanOrEqualTo(seeds.length / 4);
  }

  private static VictimUids sorted(VictimUids victims) {
    return new VictimUids(victims.uids().stream().sorted().toList(), victims.violations());
  }

  @ParameterizedTest
  @EnumSource(names = {"LOAD", "PACKED"})
  void preemptor_runsOnTheChosenNode_andNobodyGoesInVain(Policy policy) {
    int preempted = 0;
    int spareable = 0;
    long[] seeds = Seeds.of(SCENES);
    for (long seed : seeds) {
      RandomGenerator random = Seeds.random(seed);
      List<Node> nodes = PreemptionScene.nodes(random, "a", "b", "c");
      Pod urgent = PreemptionScene.urgent(random);
      Map<String, VictimUids> offered = scheduler.offer(nodes, urgent, p -> true).victims();
      FakeWorld world = PreemptionScene.world(policy, nodes, p -> true);
      var answer = (Answer.Nodes) world.preempt().preempt(urgent.facts(), offered).result();
      for (Node node : nodes) {
        if (offered.containsKey(node.name()) && !answer.victims().containsKey(node.name())) {
          noEvictionHelps(
              "%s, seed %d: %s on %s".formatted(policy, seed, urgent, node), node, urgent);
        }
      }
      if (!answer.victims().isEmpty()) {
        preempted++;
        String chosen = scheduler.choice(nodes, urgent, answer.victims());
        Node node = nodes.stream().filter(n -> n.name().equals(chosen)).findAny().orElseThrow();
        Set<String> gone = Set.copyOf(requireNonNull(answer.victims().get(chosen)).uids());
        VictimUids proposed = requireNonNull(offered.get(chosen));
        String as =
            "%s, seed %d: %s on %s, offered %s, %s go"
                .formatted(policy, seed, urgent, node, proposed, gone);
        assertThat(scheduler.lets(node, urgent, without(gone))).as(as).isTrue();
        List<Pod> tried = PreemptionPropertyTest.spareable(policy, node, urgent, proposed, gone);
        spareable += tried.size();
        tried.forEach(pod -> goesNotInVain(as, policy, node, urgent, gone, pod));
        PreemptionPropertyTest.runs(as, world, node, urgent, gone);
      }
    }
    assertThat(preempted).isGreaterThanOrEqualTo(seeds.length / 4);
    assertThat(spareable).isGreaterThanOrEqualTo(seeds.length / 10);
  }

  /** The extender must not drop a proposed node where the pod could run. */
  private static void noEvictionHelps(String as, Node node, Pod urgent) {
    Predicate<Pod> present = p -> p.priority() >= urgent.priority();
    assertThat(node.hasGpuFor(urgent, present) && scheduler.lets(node, urgent, present))
        .as(as)
        .isFalse();
  }

  /** Without the eviction of this pod, kube-scheduler's filters or the extender's refuse. */
  private static void goesNotInVain(
      String as, Policy policy, Node node, Pod urgent, Set<String> gone, Pod spared) {
    var others = new HashSet<>(gone);
    others.remove(spared.uid());
    Predicate<Pod> present = without(others);
    boolean fits =
        PreemptionScene.world(policy, List.of(node), present)
                    .filter()
                    .filter(urgent.facts(), List.of(node.name()), false)
                instanceof Filter.Answer.Nodes(List<String> passed, var refused)
            && passed.contains(node.name());
    assertThat(fits && scheduler.lets(node, urgent, present))
        .as("%s: %s in vain", as, spared)
        .isFalse();
  }
}
