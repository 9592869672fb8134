package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeNeeds;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodLabels;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.extender.verb.Preempt.Answer;
import dev.tranche.extender.verb.Preempt.VictimUids;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Random nodes, pods and preemptors against a model of kube-scheduler's dry run: it removes all
 * pods of lower priority, and spares those that it can, the most important first. So does {@code
 * SelectVictimsOnNode} in {@code plugins/defaultpreemption} of Kubernetes 1.34. The model's filters
 * are those for resources, the number of pods, host ports and anti-affinity.
 */
final class PreemptionPropertyTest {
  private static final int RUNS = 3_000;
  private static final int REPLICAS = 10;
  private static final String NODE = "a";
  private static final long MIB = 1L << 20;

  /**
   * @param gpu -1: it requests none
   * @param port 0: none
   * @param apart the group of pods that it must not be beside; 0: none
   */
  private record Pod(
      String uid,
      int gpu,
      int replicas,
      int priority,
      long startedAtMs,
      int cpu,
      int memory,
      int port,
      int group,
      int apart) {
    boolean constrained() {
      return port != 0 || apart != 0;
    }

    PodFacts facts() {
      var needs = new NodeNeeds(cpu, memory * MIB, 0, constrained());
      var info = new PreemptionInfo(priority, PodLabels.NONE, startedAtMs, false, null, 0, needs);
      return gpu < 0
          ? FakeWorld.pod(uid, replicas).with(info)
          : FakeWorld.pod(uid, replicas, "tranche.dev/gpu=" + gpuUuid(gpu)).with(info).on(NODE);
    }
  }

  private static String gpuUuid(int index) {
    return "gpu-" + index;
  }

  /** A node and its pods, as kube-scheduler knows them. */
  private record Node(int gpus, int cpu, int memory, int podsMax, List<Pod> pods) {
    boolean lets(Pod pod, Predicate<Pod> present) {
      List<Pod> all = pods.stream().filter(present).toList();
      return all.size() < podsMax
          && sum(all, Pod::replicas) + pod.replicas() <= gpus * REPLICAS
          && (pod.cpu() == 0 || sum(all, Pod::cpu) + pod.cpu() <= cpu)
          && (pod.memory() == 0 || sum(all, Pod::memory) + pod.memory() <= memory)
          && all.stream().noneMatch(p -> p.port() != 0 && p.port() == pod.port())
          && all.stream().noneMatch(p -> p.apart() != 0 && p.apart() == pod.group())
          && all.stream().noneMatch(p -> pod.apart() != 0 && pod.apart() == p.group());
    }

    private static int sum(List<Pod> pods, java.util.function.ToIntFunction<Pod> of) {
      return pods.stream().mapToInt(of).sum();
    }

    boolean hasGpuFor(Pod pod, Predicate<Pod> present) {
      return IntStream.range(0, gpus).anyMatch(gpu -> free(gpu, present) >= pod.replicas());
    }

    int free(int gpu, Predicate<Pod> present) {
      return REPLICAS
          - pods.stream().filter(p -> p.gpu() == gpu).filter(present).mapToInt(Pod::replicas).sum();
    }

    /** Returns the victims of the dry run; empty if it proposes none. */
    List<String> dryRun(Pod pod) {
      var gone = new HashSet<String>();
      pods.stream().filter(p -> p.priority() < pod.priority()).forEach(p -> gone.add(p.uid()));
      if (!lets(pod, without(gone))) {
        return List.of();
      }
      pods.stream()
          .filter(p -> gone.contains(p.uid()))
          .sorted(
              Comparator.comparingInt(Pod::priority).reversed().thenComparingLong(Pod::startedAtMs))
          .forEach(
              spared -> {
                gone.remove(spared.uid());
                if (!lets(pod, without(gone))) {
                  gone.add(spared.uid());
                }
              });
      return List.copyOf(gone);
    }
  }

  private static Predicate<Pod> without(Set<String> gone) {
    return pod -> !gone.contains(pod.uid());
  }

  private static Predicate<Pod> withoutBut(Set<String> gone, String spared) {
    return pod -> !gone.contains(pod.uid()) || pod.uid().equals(spared);
  }

  /** Policy {@code packed} knows the requests of all pods, {@code load} only those of GPU pods. */
  @ParameterizedTest
  @EnumSource(names = {"LOAD", "PACKED"})
  void whomTheDryRunWouldLetRun_runs_andNobodyGoesInVain(Policy policy) {
    RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(39);
    int preempted = 0;
    for (int run = 0; run < RUNS; run++) {
      Node node = node(random);
      Pod urgent = pod(random, "urgent", -1, 1 + random.nextInt(REPLICAS), 2 + random.nextInt(2));
      List<String> offered = node.dryRun(urgent);
      if (!offered.isEmpty()) {
        preempted++;
        check(
            "%s, run %d: %s on %s, offered %s".formatted(policy, run, urgent, node, offered),
            policy,
            node,
            urgent,
            offered);
      }
    }
    assertThat(preempted).isGreaterThan(RUNS / 10);
  }

  private static void check(String as, Policy policy, Node node, Pod urgent, List<String> offered) {
    FakeWorld world = world(policy, node);
    var lower = new HashSet<String>();
    node.pods().stream()
        .filter(p -> p.priority() < urgent.priority() && p.gpu() >= 0)
        .forEach(p -> lower.add(p.uid()));
    lower.addAll(offered);
    var answer =
        (Answer.Nodes)
            world
                .preempt()
                .preempt(urgent.facts(), Map.of(NODE, new VictimUids(offered, 0)))
                .result();
    VictimUids victims = answer.victims().get(NODE);
    if (victims == null) {
      assertThat(node.hasGpuFor(urgent, without(lower))).as(as).isFalse();
      return;
    }
    var gone = new HashSet<>(victims.uids());
    assertThat(lower).as(as).containsAll(gone);
    assertThat(node.lets(urgent, without(gone))).as("%s: %s go", as, gone).isTrue();
    assertThat(node.hasGpuFor(urgent, without(gone))).as("%s: %s go", as, gone).isTrue();
    if (policy == Policy.PACKED) {
      noneCanBeSpared(as, node, urgent, offered, gone);
    }
    gone.forEach(uid -> world.state.apply(new Event.PodGone(uid, "ns/" + uid)));
    assertThat(world.filter().filter(urgent.facts(), List.of(NODE), false))
        .as(as)
        .isEqualTo(new Filter.Answer.Nodes(List.of(NODE), Map.of()));
  }

  /** Except an offered one that may be in the way of a filter that the extender does not know. */
  private static void noneCanBeSpared(
      String as, Node node, Pod urgent, List<String> offered, Set<String> gone) {
    for (Pod pod : node.pods()) {
      boolean kept =
          offered.contains(pod.uid())
              && (pod.gpu() < 0 || pod.constrained() || urgent.constrained());
      if (gone.contains(pod.uid()) && !kept) {
        Predicate<Pod> present = withoutBut(gone, pod.uid());
        assertThat(node.lets(urgent, present) && node.hasGpuFor(urgent, present))
            .as("%s: %s go, and %s in vain", as, gone, pod.uid())
            .isFalse();
      }
    }
  }

  private static FakeWorld world(Policy policy, Node node) {
    var world = new FakeWorld(policy);
    world.budgets.listed();
    world.report(
        NODE,
        IntStream.range(0, node.gpus())
            .mapToObj(index -> new Gpu(gpuUuid(index), 0, 0))
            .toArray(Gpu[]::new));
    // The node has half a MiB more, which is counted as a whole one.
    world.packing.nodeSeen(NODE, new HostRequest(node.cpu(), node.memory() + 1));
    for (Pod pod : node.pods()) {
      var host = new HostRequest(pod.cpu(), pod.memory());
      if (policy == Policy.PACKED || pod.gpu() >= 0) {
        world.packing.podSeen(pod.uid(), NODE, false, host);
      }
      if (pod.gpu() >= 0) {
        world.state.apply(new Event.PodSeen(pod.facts()));
      }
    }
    return world;
  }

  private static Node node(RandomGenerator random) {
    int gpus = 1 + random.nextInt(3);
    int podsMax = 3 + random.nextInt(10);
    var node =
        new Node(gpus, 6 + random.nextInt(20), 6 + random.nextInt(20), podsMax, new ArrayList<>());
    for (int i = 0; i < 12; i++) {
      int gpu = random.nextInt(4) == 0 ? -1 : random.nextInt(gpus);
      int replicas = gpu < 0 ? 0 : 1 + random.nextInt(6);
      Pod pod = pod(random, "p" + i, gpu, replicas, random.nextInt(4));
      if (node.lets(pod, p -> true) && (gpu < 0 || node.free(gpu, p -> true) >= replicas)) {
        node.pods().add(pod);
      }
    }
    return node;
  }

  private static Pod pod(RandomGenerator random, String uid, int gpu, int replicas, int priority) {
    return new Pod(
        uid,
        gpu,
        replicas,
        priority,
        random.nextInt(5),
        random.nextInt(5),
        random.nextInt(5),
        Math.max(0, random.nextInt(8) - 5),
        1 + random.nextInt(4),
        random.nextInt(8) == 0 ? 1 + random.nextInt(4) : 0);
  }
}
