package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.NodeNeeds;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodLabels;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.extender.verb.Preempt.VictimUids;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Random nodes and pods, as kube-scheduler knows them. {@link PreemptionDryRunIT} holds this model
 * of its filters and its dry run against its own code.
 */
final class PreemptionScene {
  static final int REPLICAS = 10;
  static final String GROUP = "group";
  private static final int GROUPS = 4;
  private static final long MIB = 1L << 20;

  private PreemptionScene() {}

  /**
   * @param gpu -1: it requests none
   * @param deletionAtMs when its grace period ends; 0: it is not terminating
   * @param port 0: none
   * @param apart the group of pods that it must not be beside; 0: none
   */
  record Pod(
      String uid,
      int gpu,
      int replicas,
      int priority,
      long startedAtMs,
      long deletionAtMs,
      int cpu,
      int memory,
      int port,
      int group,
      int apart) {
    boolean constrained() {
      return port != 0 || apart != 0;
    }

    PodFacts facts() {
      var info =
          new PreemptionInfo(
              priority,
              PodLabels.of(Map.of(GROUP, Integer.toString(group))),
              startedAtMs,
              true,
              deletionAtMs > 0,
              null,
              deletionAtMs,
              new NodeNeeds(cpu, memory * MIB, 0, constrained()));
      return FakeWorld.pod(uid, replicas).with(info);
    }

    PodFacts facts(Node node) {
      PodFacts facts = facts();
      return FakeWorld.pod(uid, replicas, "tranche.dev/gpu=" + node.uuid(gpu))
          .with(facts.preemption())
          .on(node.name());
    }
  }

  /**
   * A node and its pods, as kube-scheduler knows them.
   *
   * @param budgets how many disruptions each group's PodDisruptionBudget allows
   */
  record Node(
      String name,
      int gpus,
      int cpu,
      int memory,
      int podsMax,
      Map<Integer, Integer> budgets,
      List<Pod> pods) {
    String uuid(int gpu) {
      return name + "-gpu-" + gpu;
    }

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

    private static int sum(List<Pod> pods, ToIntFunction<Pod> of) {
      return pods.stream().mapToInt(of).sum();
    }

    boolean hasGpuFor(Pod pod, Predicate<Pod> present) {
      return IntStream.range(0, gpus).anyMatch(gpu -> free(gpu, present) >= pod.replicas());
    }

    int free(int gpu, Predicate<Pod> present) {
      return REPLICAS
          - pods.stream().filter(p -> p.gpu() == gpu).filter(present).mapToInt(Pod::replicas).sum();
    }

    /**
     * Removes all pods of lower priority, and spares those that it can: first those that violate a
     * budget, then the most important. So does {@code SelectVictimsOnNode} in {@code
     * plugins/defaultpreemption}. Returns no victims if it proposes none.
     */
    VictimUids dryRun(Pod pod) {
      List<Pod> lower =
          pods.stream()
              .filter(p -> p.priority() < pod.priority())
              .sorted(
                  Comparator.comparingInt(Pod::priority)
                      .reversed()
                      .thenComparingLong(Pod::startedAtMs))
              .toList();
      var gone = new HashSet<>(lower.stream().map(Pod::uid).toList());
      if (!lets(pod, without(gone))) {
        return new VictimUids(List.of(), 0);
      }
      Set<String> violators = violators(lower);
      Stream.concat(
              lower.stream().filter(p -> violators.contains(p.uid())),
              lower.stream().filter(p -> !violators.contains(p.uid())))
          .forEach(
              spared -> {
                gone.remove(spared.uid());
                if (!lets(pod, without(gone))) {
                  gone.add(spared.uid());
                }
              });
      return new VictimUids(
          lower.stream().map(Pod::uid).filter(gone::contains).toList(),
          gone.stream().filter(violators::contains).count());
    }

    private Set<String> violators(List<Pod> mostImportantFirst) {
      var left = new HashMap<>(budgets);
      var violators = new HashSet<String>();
      for (Pod pod : mostImportantFirst) {
        Integer allowed = left.computeIfPresent(pod.group(), (group, n) -> n - 1);
        if (allowed != null && allowed < 0) {
          violators.add(pod.uid());
        }
      }
      return violators;
    }
  }

  static Predicate<Pod> without(Set<String> gone) {
    return pod -> !gone.contains(pod.uid());
  }

  /** Policy {@code packed} knows the requests of all pods, {@code load} only those of GPU pods. */
  static FakeWorld world(Policy policy, List<Node> nodes, Predicate<Pod> present) {
    var world = new FakeWorld(policy);
    world.budgets.listed();
    nodes.getFirst().budgets().forEach((group, n) -> world.budgets.put(budget(group, n)));
    for (Node node : nodes) {
      world.report(
          node.name(),
          IntStream.range(0, node.gpus())
              .mapToObj(index -> new Gpu(node.uuid(index), 0, 0))
              .toArray(Gpu[]::new));
      // The node has half a MiB more, which is counted as a whole one.
      world.packing.hosts.node(node.name(), new HostRequest(node.cpu(), node.memory() + 1));
      node.pods().stream().filter(present).forEach(pod -> add(world, policy, node, pod));
    }
    return world;
  }

  private static Budget budget(int group, int allowed) {
    String value = Integer.toString(group);
    var requirement = new Budget.Requirement(GROUP, "In", Set.of(value));
    return new Budget("ns", "of-" + value, List.of(requirement), allowed, Set.of());
  }

  private static void add(FakeWorld world, Policy policy, Node node, Pod pod) {
    if (policy == Policy.PACKED || pod.gpu() >= 0) {
      var host = new HostRequest(pod.cpu(), pod.memory());
      world.packing.podSeen(pod.uid(), node.name(), false, host);
    }
    if (pod.gpu() >= 0) {
      world.see(pod.facts(node));
    }
  }

  static List<Node> nodes(RandomGenerator random, String... names) {
    var budgets = new HashMap<Integer, Integer>();
    for (int group = 1; group <= GROUPS; group++) {
      if (random.nextInt(3) == 0) {
        budgets.put(group, random.nextInt(3));
      }
    }
    return Stream.of(names).map(name -> node(random, name, Map.copyOf(budgets))).toList();
  }

  private static Node node(RandomGenerator random, String name, Map<Integer, Integer> budgets) {
    int gpus = 1 + random.nextInt(3);
    int podsMax = 3 + random.nextInt(10);
    int cpu = 6 + random.nextInt(20);
    int memory = 6 + random.nextInt(20);
    var node = new Node(name, gpus, cpu, memory, podsMax, budgets, new ArrayList<>());
    for (int i = 0; i < 12; i++) {
      int gpu = random.nextInt(4) == 0 ? -1 : random.nextInt(gpus);
      int replicas = gpu < 0 ? 0 : 1 + random.nextInt(6);
      // Ties of the start would be in no order.
      long startedAtMs = 16L * random.nextInt(100) + i;
      Pod pod = pod(random, name + i, gpu, replicas, random.nextInt(4), startedAtMs);
      if (node.lets(pod, p -> true) && (gpu < 0 || node.free(gpu, p -> true) >= replicas)) {
        node.pods().add(pod);
      }
    }
    return node;
  }

  /** Returns a pod that waits; half of them need no CPU and no memory. */
  static Pod urgent(RandomGenerator random) {
    Pod pod = pod(random, "urgent", -1, 1 + random.nextInt(REPLICAS), 2 + random.nextInt(2), 0);
    boolean gpusAlone = random.nextBoolean();
    return new Pod(
        pod.uid(),
        pod.gpu(),
        pod.replicas(),
        pod.priority(),
        pod.startedAtMs(),
        0,
        gpusAlone ? 0 : pod.cpu(),
        gpusAlone ? 0 : pod.memory(),
        pod.port(),
        pod.group(),
        pod.apart());
  }

  private static Pod pod(
      RandomGenerator random, String uid, int gpu, int replicas, int priority, long startedAtMs) {
    return new Pod(
        uid,
        gpu,
        replicas,
        priority,
        startedAtMs,
        random.nextInt(8) == 0 ? 100_000 + 40_000L * random.nextInt(4) : 0,
        random.nextInt(5),
        random.nextInt(5),
        Math.max(0, random.nextInt(8) - 5),
        1 + random.nextInt(GROUPS),
        random.nextInt(8) == 0 ? 1 + random.nextInt(GROUPS) : 0);
  }
}
