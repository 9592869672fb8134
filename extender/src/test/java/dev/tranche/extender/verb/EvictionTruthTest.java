package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.Preempt.VictimUids;
import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Preemption for every kind of request, on GPUs whose number of replicas has changed under their
 * pods. The truth is computed here in 420ths of a GPU, and by trying: a pod that fits without all
 * pods of lower priority gets victims, and none of them goes in vain.
 */
final class EvictionTruthTest {
  private static final int RUNS = 200;
  private static final String NODE = "a";

  /** Each number of replicas divides it. */
  private static final int PARTS = 420;

  private static final List<Integer> REPLICAS = List.of(1, 2, 3, 4, 5, 7, 10, 12);

  /**
   * @param of R that its replicas were granted in
   */
  private record Placed(String name, Set<Integer> gpus, int replicas, int of, int priority) {
    private int parts() {
      return replicas * PARTS / of;
    }
  }

  private enum Kind {
    /** One share on each of several GPUs. */
    SHARES,
    /** Whole GPUs that are requested by number. */
    WHOLE,
    /** A number of replicas, on one GPU if one has them. */
    PLAIN,
    TWO_CONTAINERS,
    /** An init container with a share of its own, before the other one. */
    INIT
  }

  /**
   * @param first of {@link Kind#INIT}: the init container's; of two containers: the first one's
   * @param of R that it was sized for
   */
  private record Urgent(Kind kind, int first, int replicas, int count, int of) {}

  private record Scene(List<Integer> replicas, List<Placed> pods, Urgent urgent) {
    boolean fits(Predicate<Placed> present) {
      List<Placed> here = pods.stream().filter(present).toList();
      int[] free = IntStream.range(0, replicas.size()).map(gpu -> free(gpu, here)).toArray();
      return switch (urgent.kind()) {
        case SHARES, WHOLE -> gpusWith(free, urgent.replicas()) >= urgent.count();
        case PLAIN -> IntStream.of(free).sum() >= urgent.replicas();
        case INIT -> gpusWith(free, Math.max(urgent.first(), urgent.replicas())) > 0;
        case TWO_CONTAINERS -> fitsBoth(free);
      };
    }

    private boolean fitsBoth(int[] free) {
      for (int a = 0; a < free.length; a++) {
        for (int b = 0; b < free.length; b++) {
          boolean suits = suits(a) && suits(b) && free[a] >= urgent.first();
          if (suits && free[b] - (a == b ? urgent.first() : 0) >= urgent.replicas()) {
            return true;
          }
        }
      }
      return false;
    }

    private boolean suits(int gpu) {
      return urgent.kind() == Kind.PLAIN || replicas.get(gpu) == urgent.of();
    }

    private long gpusWith(int[] free, int least) {
      return IntStream.range(0, free.length).filter(g -> suits(g) && free[g] >= least).count();
    }

    private int free(int gpu, List<Placed> here) {
      int current =
          here.stream()
              .filter(p -> p.gpus().contains(gpu) && p.of() == replicas.get(gpu))
              .mapToInt(Placed::replicas)
              .sum();
      return replicas.get(gpu) - current - withheld(gpu, here);
    }

    /** What no pod can get, since pods of an earlier number of replicas have it. */
    private int withheld(int gpu, List<Placed> here) {
      int parts =
          here.stream()
              .filter(p -> p.gpus().contains(gpu) && p.of() != replicas.get(gpu))
              .mapToInt(Placed::parts)
              .sum();
      return Math.ceilDiv(parts * replicas.get(gpu), PARTS);
    }
  }

  @Test
  void whoFitsWithoutLowerPods_getsVictims_andNoneGoesInVain() {
    int helped = 0;
    long[] seeds = Seeds.of(RUNS);
    for (long seed : seeds) {
      RandomGenerator random = Seeds.random(seed);
      Scene scene = scene(random);
      if (scene.fits(p -> true)) {
        continue;
      }
      List<String> lower =
          scene.pods().stream().filter(p -> p.priority() < 2).map(Placed::name).toList();
      List<String> offered = lower.stream().filter(name -> random.nextInt(4) == 0).toList();
      check("seed %d: %s, offered %s".formatted(seed, scene, offered), scene, lower, offered);
      helped += scene.fits(p -> !lower.contains(p.name())) ? 1 : 0;
    }
    assertThat(helped).isGreaterThanOrEqualTo(seeds.length / 10);
  }

  private static void check(String as, Scene scene, List<String> lower, List<String> offered) {
    var world = new FakeWorld(Policy.LOAD);
    world.budgets.listed();
    scene.pods().forEach(pod -> world.see(facts(pod)));
    report(world, scene, p -> true);
    PodFacts urgent = facts(scene.urgent());
    world.see(urgent);
    var answer =
        (Preempt.Answer.Nodes)
            world.preempt().preempt(urgent, Map.of(NODE, new VictimUids(offered, 0))).result();
    VictimUids victims = answer.victims().get(NODE);
    if (victims == null) {
      assertThat(scene.fits(p -> !lower.contains(p.name()))).as(as).isFalse();
      return;
    }
    var gone = new HashSet<>(victims.uids());
    assertThat(lower).as(as).containsAll(gone);
    assertThat(scene.fits(p -> !gone.contains(p.name()))).as("%s: %s go", as, gone).isTrue();
    for (String name : gone) {
      assertThat(scene.fits(p -> !gone.contains(p.name()) || p.name().equals(name)))
          .as("%s: %s go, and %s in vain", as, gone, name)
          .isFalse();
    }
    gone.forEach(uid -> world.state.apply(new Event.PodGone(uid, "ns/" + uid)));
    report(world, scene, p -> !gone.contains(p.name()));
    assertThat(world.filter().filter(urgent, List.of(NODE), false))
        .as("%s: without %s", as, gone)
        .isEqualTo(new Filter.Answer.Nodes(List.of(NODE), Map.of()));
  }

  private static Scene scene(RandomGenerator random) {
    var replicas = new ArrayList<Integer>();
    int of = pick(random, REPLICAS);
    for (int gpu = 1 + random.nextInt(4); gpu > 0; gpu--) {
      replicas.add(random.nextInt(6) == 0 ? pick(random, REPLICAS) : of);
    }
    boolean uniform = replicas.stream().allMatch(r -> r == of);
    Urgent urgent = urgent(random, of, replicas.size(), uniform);
    var pods = new ArrayList<Placed>();
    var scene = new Scene(List.copyOf(replicas), pods, urgent);
    for (int i = 0; i < 14; i++) {
      Placed pod = placed(random, "p" + i, replicas);
      pods.add(pod);
      if (pod.gpus().stream().anyMatch(gpu -> scene.free(gpu, pods) < 0)) {
        pods.removeLast();
      }
    }
    return scene;
  }

  private static Placed placed(RandomGenerator random, String name, List<Integer> replicas) {
    var gpus = new HashSet<Integer>();
    gpus.add(random.nextInt(replicas.size()));
    if (random.nextInt(5) == 0) {
      gpus.add(random.nextInt(replicas.size()));
    }
    int now = replicas.get(gpus.iterator().next());
    int of = random.nextInt(3) == 0 ? pick(random, REPLICAS) : now;
    return new Placed(name, gpus, 1 + random.nextInt(of), of, random.nextInt(5) / 2);
  }

  private static Urgent urgent(RandomGenerator random, int of, int gpus, boolean uniform) {
    int first = 1 + random.nextInt(of);
    int own = 1 + random.nextInt(of);
    int count = 1 + random.nextInt(gpus);
    return switch (random.nextInt(uniform ? 5 : 4)) {
      case 0 -> new Urgent(Kind.SHARES, 0, own, count, of);
      case 1 -> new Urgent(Kind.WHOLE, 0, of, count, of);
      case 2 -> new Urgent(Kind.TWO_CONTAINERS, first, own, 1, of);
      case 3 -> new Urgent(Kind.INIT, first, own, 1, of);
      default -> new Urgent(Kind.PLAIN, 0, 1 + random.nextInt(of * count), 1, of);
    };
  }

  private static int pick(RandomGenerator random, List<Integer> from) {
    return from.get(random.nextInt(from.size()));
  }

  /** What the node tells; what a pod holds was granted in its own number of replicas. */
  private static void report(FakeWorld world, Scene scene, Predicate<Placed> present) {
    List<Placed> here = scene.pods().stream().filter(present).toList();
    var gpus = new ArrayList<GpuFacts>();
    for (int gpu = 0; gpu < scene.replicas().size(); gpu++) {
      gpus.add(
          TestFacts.gpu(
              uuid(gpu),
              gpu,
              scene.replicas().get(gpu),
              80 * FakeWorld.GIB,
              scene.withheld(gpu, here)));
    }
    var holdings = new HashMap<String, Map<String, Map<String, Integer>>>();
    var grants = new HashMap<String, Map<String, NodeState.Grant>>();
    for (Placed pod : here) {
      var devices = new HashMap<String, Integer>();
      var granted = new HashMap<String, NodeState.Grant>();
      for (int gpu : pod.gpus()) {
        boolean earlier = pod.of() != scene.replicas().get(gpu);
        devices.put(uuid(gpu), pod.replicas());
        granted.put(uuid(gpu), new NodeState.Grant(pod.of(), earlier));
      }
      holdings.put("ns/" + pod.name(), Map.of("main", devices));
      grants.put("ns/" + pod.name(), granted);
    }
    var state = new NodeState(true, gpus, holdings, true, grants, List.of());
    world.state.reported(new Event.Reported(NODE, state, OptionalLong.of(0)), Map.of());
  }

  private static String uuid(int gpu) {
    return "gpu-" + gpu;
  }

  private static PodFacts facts(Placed pod) {
    int all = pod.replicas() * pod.gpus().size();
    var annotations = new HashMap<String, String>();
    annotations.put(Names.REPLICAS_PER_GPU, Integer.toString(pod.of()));
    annotations.put(Names.GPU_FRACTION, pod.replicas() + "/" + pod.of());
    annotations.put(Names.GPU_COUNT, Integer.toString(pod.gpus().size()));
    annotations.put(
        Names.GPU, String.join(",", pod.gpus().stream().map(EvictionTruthTest::uuid).toList()));
    var request = new Demand.Request("main", Demand.Kind.APP, all);
    return facts(pod.name(), NODE, List.of(request), annotations, pod.priority());
  }

  private static PodFacts facts(Urgent urgent) {
    var annotations = new HashMap<String, String>();
    int replicas = urgent.replicas();
    if (urgent.kind() != Kind.PLAIN) {
      annotations.put(Names.REPLICAS_PER_GPU, Integer.toString(urgent.of()));
    }
    var requests = new ArrayList<Demand.Request>();
    switch (urgent.kind()) {
      case SHARES -> {
        annotations.put(Names.GPU_FRACTION, replicas + "/" + urgent.of());
        annotations.put(Names.GPU_COUNT, Integer.toString(urgent.count()));
        replicas *= urgent.count();
      }
      case WHOLE -> {
        annotations.put(Names.GPUS_REQUESTED, "main=" + urgent.count());
        replicas *= urgent.count();
      }
      case PLAIN -> {}
      case TWO_CONTAINERS -> {
        annotations.put(Names.GPU_FRACTION_OF + "first", urgent.first() + "/" + urgent.of());
        annotations.put(Names.GPU_FRACTION_OF + "main", replicas + "/" + urgent.of());
        requests.add(new Demand.Request("first", Demand.Kind.APP, urgent.first()));
      }
      case INIT -> {
        annotations.put(Names.GPU_FRACTION_OF + "first", urgent.first() + "/" + urgent.of());
        annotations.put(Names.GPU_FRACTION_OF + "main", replicas + "/" + urgent.of());
        requests.add(new Demand.Request("first", Demand.Kind.INIT, urgent.first()));
      }
    }
    requests.add(new Demand.Request("main", Demand.Kind.APP, replicas));
    return facts("urgent", null, requests, annotations, 2);
  }

  private static PodFacts facts(
      String name,
      @Nullable String node,
      List<Demand.Request> requests,
      Map<String, String> annotations,
      int priority) {
    var pod =
        new PodFacts(
            name, "ns", name, node, false, node != null, Names.RESOURCE, requests, annotations);
    return pod.with(new PreemptionInfo(priority, Map.of(), 0, false, null));
  }
}
