package dev.tranche.extender.placement;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Container;
import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.Backtracking.Attempt;
import dev.tranche.extender.score.Policy;
import dev.tranche.process.fuzz.Seeds;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Placement of pods with several shares: exact for small pods, and short for all. */
final class SearchTest {
  /** Prefers another GPU for each size of share. */
  private static final GpuOrder BY_SIZE =
      share ->
          Comparator.comparingInt((GpuView gpu) -> (gpu.index() * 7 + share) % 5)
              .thenComparingInt(GpuView::index);

  /** GPUs whose free replicas differ by this have the same hash. */
  private static final int SAME_HASH = 64;

  private static final Outcome UNDECIDED = new Outcome.DoesNotFit(Reason.UNDECIDED);
  private static final Optional<Outcome> GAVE_UP = Optional.of(UNDECIDED);
  private static final int MANY = 2 * SAME_HASH + 2;
  private static final List<Policy> POLICIES =
      List.of(Policy.LOAD, Policy.SPREAD, Policy.PACKED, Policy.LOAD_SPARING_IDLE);

  /** An attempt may end in the middle of a count; and what is split takes a look for each part. */
  private static final int STEPS_ON_A_NODE_MAX =
      SearchBudget.MAX + 3 * 56 * (Shares.COUNT_MAX + 56);

  @Test
  void smallSharesFirst_theLargeOneStillFits() {
    var containers = new ArrayList<Container>();
    for (int i = 0; i < 6; i++) {
      containers.add(container("c" + i, List.of(1)));
    }
    containers.add(container("large", List.of(10)));
    var gpus = new ArrayList<GpuView>();
    gpus.add(gpu("empty", 0, 10, 10, GpuView.UNLIMITED, 0));
    for (int i = 1; i < 8; i++) {
      gpus.add(gpu("gpu" + i, i, 10, 9, GpuView.UNLIMITED, 0.5));
    }
    for (Policy policy : POLICIES) {
      var fits = (Outcome.Fits) Placer.place(request(10, containers), gpus, policy.order);
      assertThat(fits.placement().held()).containsEntry("empty", 10);
    }
  }

  @Test
  void moreSharesThanGpusWithRoom_takesNoSearch() {
    var eight = container("main", Collections.nCopies(8, 5));
    for (int count : new int[] {8, 16, 56}) {
      var gpus = new ArrayList<GpuView>();
      for (int i = 0; i < count; i++) {
        gpus.add(gpu("g" + i, i, 10, i < 7 ? 10 : 4, GpuView.UNLIMITED, 0));
      }
      var steps = new SearchBudget();
      var search = new Search(new SearchPlan(demand(10, List.of(eight))), gpus, true, true, steps);
      assertThat(search.run(Policy.LOAD.order)).isEmpty();
      assertThat(steps.taken).isBetween(count, 3 * count);
      assertThat(Placer.place(request(10, List.of(eight)), gpus, Policy.LOAD.order))
          .isEqualTo(new Outcome.DoesNotFit(Reason.TOO_FEW_GPUS));
    }
  }

  @Test
  void searchThatIsGivenUp_isNoRefusalForEver() {
    // 3-partition: 16 GPUs of 1,000, each to be filled by three shares of about a third.
    var random = new Random(7);
    boolean undecided = false;
    for (int round = 0; round < 50; round++) {
      Outcome outcome = Placer.place(request(1_000, thirds(random)), full(16), Policy.LOAD.order);
      undecided |= outcome.equals(UNDECIDED);
      assertThat(outcome).matches(each -> each instanceof Outcome.Fits || each.equals(UNDECIDED));
    }
    assertThat(undecided).isTrue();
    assertThat(Reason.UNDECIDED.unresolvable).isFalse();
  }

  private static List<Container> thirds(Random random) {
    var containers = new ArrayList<Container>();
    for (int i = 0; i < 16; i++) {
      int a = random.nextInt(260, 400);
      int b = random.nextInt(260, 1_000 - a - 250);
      for (int share : new int[] {a, b, 1_000 - a - b}) {
        containers.add(container("c" + containers.size(), List.of(share)));
      }
    }
    Collections.shuffle(containers, random);
    return containers;
  }

  private static List<GpuView> full(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> gpu("g" + i, i, 1_000, 1_000, GpuView.UNLIMITED, 0))
        .toList();
  }

  @Test
  void smallPods_fitIfAndOnlyIfTryingAllSaysSo() {
    int fits = 0;
    int none = 0;
    long[] seeds = Seeds.of(2_000);
    for (long seed : seeds) {
      var random = new Random(seed);
      int replicas = someReplicas(random);
      List<GpuView> gpus = someGpus(random, random.nextInt(1, 5), replicas);
      Demand demand =
          demand(replicas, someContainers(random, random.nextInt(1, 5), replicas, false));
      GpuOrder order = POLICIES.get(random.nextInt(4)).order;
      boolean expected = new Exhaustive(demand, gpus, true).fits();
      Optional<Outcome> result = search(demand, gpus).run(order);
      if (found(result) instanceof Placement placement) {
        check(demand, gpus, placement);
        fits++;
      } else {
        none++;
      }
      assertThat(found(result) != null).as("seed %d", seed).isEqualTo(expected);
      assertThat(result).isNotEqualTo(GAVE_UP);
    }
    assertThat(fits).isGreaterThanOrEqualTo(seeds.length / 10);
    assertThat(none).isGreaterThanOrEqualTo(seeds.length / 10);
  }

  /** Which of two GPUs with equal room is taken matters to a container on one of them. */
  @Test
  void containersWithTwoSizes_fitIfAndOnlyIfTryingAllSaysSo() {
    int fits = 0;
    long[] seeds = Seeds.of(2_000);
    for (long seed : seeds) {
      var random = new Random(seed);
      List<GpuView> gpus =
          IntStream.range(0, random.nextInt(2, 5))
              .mapToObj(i -> gpu("g" + i, i, 8, random.nextInt(1, 9), GpuView.UNLIMITED, 0))
              .toList();
      List<Container> containers =
          IntStream.range(0, random.nextInt(2, 4))
              .mapToObj(i -> container("c" + i, oneOrTwo(random)))
              .toList();
      Demand demand = demand(8, containers);
      Placement found = found(search(demand, gpus).run(random.nextBoolean() ? BY_SIZE : null));
      boolean expected = new Exhaustive(demand, gpus, true).fits();
      assertThat(found != null).as("seed %d", seed).isEqualTo(expected);
      fits += expected ? 1 : 0;
    }
    assertThat(fits).isBetween(seeds.length / 10, seeds.length - seeds.length / 10);
  }

  private static List<Integer> oneOrTwo(Random random) {
    int share = random.nextInt(1, 6);
    return random.nextBoolean() ? List.of(share) : twoSizes(share, random.nextInt(1, 6));
  }

  @Test
  void plainRequests_fitIfAndOnlyIfThereAreReplicas() {
    for (long seed : Seeds.of(500)) {
      var random = new Random(seed);
      List<GpuView> gpus = someGpus(random, random.nextInt(1, 5), 4, GpuView.UNLIMITED);
      List<Container> all = new ArrayList<>(someContainers(random, 2, 4, false));
      all.addAll(someContainers(random, random.nextInt(1, 3), 4, true));
      Demand demand = demand(4, all);
      var unsplittable = all.stream().filter(c -> !c.mayUseSeveralGpus()).toList();
      int free = gpus.stream().mapToInt(GpuView::freeReplicas).sum();
      boolean expected =
          free >= demand.peakReplicas()
              && new Exhaustive(demand(4, unsplittable), gpus, true).fits();
      Optional<Outcome> result = search(demand, gpus).run(Policy.LOAD.order);
      assertThat(found(result) != null).as("seed %d", seed).isEqualTo(expected);
      assertThat(result).isNotEqualTo(GAVE_UP);
      if (found(result) instanceof Placement placement) {
        check(demand, gpus, placement);
      }
    }
  }

  @Test
  void splitThatLacksClientSlots_isUndecided_sinceAnotherOneMightLeaveEnough() {
    List<Container> plain =
        List.of(
            Containers.of("a", Kind.APP, List.of(12), true),
            Containers.of("b", Kind.APP, List.of(5), true));
    assertThat(search(demand(10, plain), twoGpus(1)).run(Policy.LOAD.order)).isEqualTo(GAVE_UP);
    assertThat(found(search(demand(10, plain), twoGpus(2)).run(Policy.LOAD.order))).isNotNull();
    var mixed =
        List.of(container("c", List.of(5)), Containers.of("d", Kind.APP, List.of(12), true));
    assertThat(search(demand(10, mixed), twoGpus(1)).run(Policy.LOAD.order)).isEqualTo(GAVE_UP);
    var small = Containers.of("c", Kind.APP, List.of(10, 10), false);
    var both = List.of(small, Containers.of("d", Kind.APP, List.of(1), true));
    assertThat(search(demand(10, both), twoGpus(GpuView.UNLIMITED)).run(null)).isEmpty();
  }

  private static List<GpuView> twoGpus(int clients) {
    return List.of(gpu("g0", 0, 10, 10, clients, 0), gpu("g1", 1, 10, 10, clients, 0));
  }

  /** One step looks at one GPU. */
  @Test
  void split_takesSteps() {
    var steps = new SearchBudget();
    var plain = List.of(Containers.of("a", Kind.APP, List.of(12), true));
    new Search(new SearchPlan(demand(10, plain)), twoGpus(2), true, true, steps).run(null);
    assertThat(steps.taken).as("to begin with, and for each of two parts").isEqualTo(3 * 2);
  }

  @Test
  void moreSharesThanASearchAccepts_areUndecided() {
    var many = container("many", Collections.nCopies(Shares.COUNT_MAX, 1));
    var one = container("one", List.of(1));
    List<GpuView> gpus = List.of(gpu("g", 0, 10_000, 10_000, GpuView.UNLIMITED, 0));
    assertThat(search(demand(10_000, List.of(many, one)), gpus).run(null)).isEqualTo(GAVE_UP);
    assertThat(search(demand(10_000, List.of(many)), gpus).run(null)).isEmpty();
  }

  @Test
  void placement_isThePolicysFirst() {
    for (long seed : Seeds.of(2_000)) {
      var random = new Random(seed);
      int replicas = someReplicas(random);
      List<GpuView> gpus = someGpus(random, random.nextInt(1, 6), replicas);
      List<Container> containers = someContainers(random, random.nextInt(1, 4), replicas, false);
      long sizes = containers.stream().flatMapToInt(Container::eachShare).distinct().count();
      GpuOrder order =
          sizes <= Search.ORDERS_MAX && random.nextInt(3) == 0
              ? BY_SIZE
              : POLICIES.get(random.nextInt(3)).order;
      Demand demand = demand(replicas, containers);
      if (found(search(demand, gpus).run(order)) instanceof Placement placement) {
        assertThat(placement).as("seed %d", seed).isEqualTo(first(demand, gpus, order));
      }
    }
  }

  /** Without any short cut: shares by size, GPUs in the policy's order. */
  private static Placement first(Demand demand, List<GpuView> gpus, GpuOrder order) {
    var exhaustive = new Exhaustive(demand, gpus, true);
    exhaustive.order = order;
    assertThat(exhaustive.fits()).isTrue();
    return exhaustive.placement();
  }

  @Test
  void everyPodThatAdmissionLetsThrough_takesBoundedSteps() {
    int most = 0;
    long[] seeds = Seeds.of(300);
    for (long seed : seeds) {
      var random = new Random(seed);
      int gpuCount = random.nextBoolean() ? 16 : 56;
      int replicas = List.of(2, 4, 7, 10, 48, 100, 1_000, 10_000).get(random.nextInt(8));
      List<GpuView> gpus = someGpus(random, gpuCount, replicas);
      Demand demand = demand(replicas, anyContainers(random, gpuCount, replicas));
      var steps = new SearchBudget();
      // The three that Placer makes at most.
      for (boolean first : new boolean[] {true, false, false}) {
        GpuOrder order = first ? POLICIES.get(random.nextInt(4)).order : null;
        var search = new Search(new SearchPlan(demand), gpus, true, true, steps);
        if (found(search.run(order)) instanceof Placement placement) {
          check(demand, gpus, placement);
        }
      }
      most = Math.max(most, steps.taken);
      assertThat(steps.taken).as("seed %d", seed).isLessThan(STEPS_ON_A_NODE_MAX);
    }
    assertThat(most).isGreaterThan(seeds.length > 1 ? SearchBudget.ATTEMPT_MAX : 0);
  }

  @Test
  void nodesThatLookAlike_areToldWhatEachWouldBeToldAlone() {
    int undecided = 0;
    int remembered = 0;
    long[] seeds = Seeds.of(30);
    for (long seed : seeds) {
      var random = new Random(seed);
      List<Container> all = seed % 10 == 0 ? thirds(random) : anyContainers(random, 16, 1_000);
      GpuRequest shared = request(1_000, all);
      for (int node = 0; node < 20; node++) {
        var gpus =
            new ArrayList<>(seed % 10 == 0 ? full(16) : someGpus(new Random(node % 3), 16, 1_000));
        Collections.shuffle(gpus, random);
        GpuOrder order = POLICIES.get(random.nextInt(4)).order;
        Outcome alone = Placer.place(request(1_000, all), gpus, order);
        assertThat(Placer.place(shared, gpus, order)).as("seed %d", seed).isEqualTo(alone);
        undecided += alone.equals(UNDECIDED) ? 1 : 0;
      }
      remembered = Math.max(remembered, shared.plan().failed.known.size());
      assertThat(shared.plan().failed.known.size()).isLessThanOrEqualTo(FailedSearches.MAX);
    }
    assertThat(undecided).isGreaterThanOrEqualTo(seeds.length / 30);
    assertThat(remembered).isGreaterThanOrEqualTo(seeds.length / 30);
  }

  @Test
  void failedSearches_areBounded() {
    var failed = new FailedSearches();
    for (int i = 0; i < 10 * FailedSearches.MAX; i++) {
      failed.add(IntBuffer.wrap(new int[] {i}), new Attempt(null, true, 3_000));
    }
    assertThat(failed.known.size()).isEqualTo(FailedSearches.MAX);
  }

  /** Up to a thousand containers, each with a fraction on {@code gpu-count} GPUs, or plain. */
  static List<Container> anyContainers(Random random, int gpuCount, int replicas) {
    int count = random.nextInt(3) == 0 ? random.nextInt(1, gpuCount + 1) : 1;
    int containers = (int) Math.pow(10, random.nextDouble() * 3);
    int sizes = random.nextInt(1, 9);
    int largest = Math.clamp((long) gpuCount * replicas * 2 / containers / count, 1, replicas);
    var all = new ArrayList<Container>();
    int[] size = IntStream.range(0, sizes).map(i -> random.nextInt(1, largest + 1)).toArray();
    boolean different = random.nextInt(3) == 0;
    for (int i = 0; i < containers; i++) {
      int share = different ? random.nextInt(1, largest + 1) : size[random.nextInt(sizes)];
      boolean plain = random.nextInt(6) == 0;
      all.add(
          plain
              ? Containers.of("c" + i, Kind.APP, List.of(share), true)
              : container("c" + i, Collections.nCopies(count, share)));
    }
    return all;
  }

  private static void check(Demand demand, List<GpuView> gpus, Placement placement) {
    assertThat(placement.containers()).hasSameSizeAs(demand.containers());
    for (int i = 0; i < demand.containers().size(); i++) {
      Container requested = demand.containers().get(i);
      List<Placement.Share> got = placement.containers().get(i).shares();
      assertThat(got.stream().mapToInt(Placement.Share::replicas).sum())
          .isEqualTo(requested.replicas());
      assertThat(got.stream().map(Placement.Share::uuid)).doesNotHaveDuplicates();
      if (!requested.mayUseSeveralGpus()) {
        assertThat(got.stream().map(Placement.Share::replicas).toList())
            .isEqualTo(requested.eachShare().boxed().toList());
      }
    }
    for (GpuView gpu : gpus) {
      assertThat(placement.held().getOrDefault(gpu.uuid(), 0))
          .isLessThanOrEqualTo(gpu.freeReplicas());
      long clients =
          placement.containers().stream()
              .filter(c -> c.shares().stream().anyMatch(s -> s.uuid().equals(gpu.uuid())))
              .count();
      assertThat(clients).isLessThanOrEqualTo(gpu.freeClients());
      assertThat(placement.clients(gpu.uuid())).isEqualTo((int) clients);
    }
  }

  /** Few, so that shares compete, or so many that different GPUs have the same hash. */
  private static int someReplicas(Random random) {
    return random.nextInt(3) == 0 ? MANY : 4;
  }

  private static int someFree(Random random, int replicas) {
    return replicas == MANY && random.nextBoolean()
        ? SAME_HASH * random.nextInt(3)
        : random.nextInt(replicas + 1);
  }

  private static List<GpuView> someGpus(Random random, int count, int replicas) {
    int clients = random.nextInt(4) == 0 ? random.nextInt(1, 4) : GpuView.UNLIMITED;
    return someGpus(random, count, replicas, clients);
  }

  private static List<GpuView> someGpus(Random random, int count, int replicas, int clients) {
    return IntStream.range(0, count)
        .mapToObj(
            i -> {
              int free = random.nextInt(3) == 0 ? replicas : someFree(random, replicas);
              return gpu("g" + i, i, replicas, free, clients, random.nextInt(4) / 4.0);
            })
        .toList();
  }

  private static List<Container> someContainers(
      Random random, int count, int replicas, boolean plain) {
    var containers = new ArrayList<Container>();
    int gpuCount = random.nextInt(1, 4);
    for (int i = 0; i < count; i++) {
      int share = random.nextInt(1, replicas + 1);
      List<Integer> shares =
          switch (random.nextInt(4)) {
            case 0 -> twoSizes(share, random.nextInt(1, replicas + 1));
            case 1 -> Collections.nCopies(gpuCount, share);
            default -> List.of(share);
          };
      containers.add(Containers.of((plain ? "p" : "c") + i, Kind.APP, shares, plain));
    }
    return containers;
  }

  /** The larger share comes first. */
  private static List<Integer> twoSizes(int a, int b) {
    return List.of(Math.max(a, b), Math.min(a, b));
  }

  private static @Nullable Placement found(Optional<Outcome> result) {
    return result.orElse(UNDECIDED) instanceof Outcome.Fits fits ? fits.placement() : null;
  }

  private static Search search(Demand demand, List<GpuView> gpus) {
    return new Search(new SearchPlan(demand), gpus, true, true, new SearchBudget());
  }

  private static Container container(String name, List<Integer> shares) {
    return Containers.of(name, Kind.APP, shares, false);
  }

  private static Demand demand(int replicas, List<Container> containers) {
    return new Demand(Names.RESOURCE, replicas, containers);
  }

  private static GpuRequest request(int replicas, List<Container> containers) {
    return new GpuRequest(
        demand(replicas, containers), OptionalInt.of(replicas), AllowList.ANY, AllowList.ANY);
  }

  static GpuView gpu(String uuid, int index, int replicas, int free, int clients, double sm) {
    long bytes = 1_000L * replicas;
    return new TestGpu(uuid)
        .index(index)
        .replicas(replicas, free)
        .clients(clients)
        .memory(bytes, bytes)
        .load(sm)
        .view();
  }

  /** Tries everything. */
  private static final class Exhaustive {
    private final Demand demand;
    private final List<GpuView> gpus;
    private final List<int[]> items = new ArrayList<>();
    private final int[] free;
    private final int[] clients;
    private final int[] chosen;
    private GpuOrder order = share -> Comparator.comparingInt(GpuView::index);

    Exhaustive(Demand demand, List<GpuView> gpus, boolean largestFirst) {
      this.demand = demand;
      this.gpus = gpus;
      for (int i = 0; i < demand.containers().size(); i++) {
        for (int share : demand.containers().get(i).eachShare().toArray()) {
          items.add(new int[] {i, share, demand.containers().get(i).gpus()});
        }
      }
      if (largestFirst) {
        items.sort(
            Comparator.comparingInt((int[] item) -> -item[1])
                .thenComparingInt((int[] item) -> -item[2]));
      }
      free = gpus.stream().mapToInt(GpuView::freeReplicas).toArray();
      clients = gpus.stream().mapToInt(GpuView::freeClients).toArray();
      chosen = new int[items.size()];
    }

    boolean fits() {
      return fits(0);
    }

    private boolean fits(int at) {
      if (at == items.size()) {
        return true;
      }
      int[] item = items.get(at);
      Comparator<GpuView> best = order.forShare(item[1]);
      var sorted =
          IntStream.range(0, gpus.size())
              .boxed()
              .sorted((a, b) -> best.compare(gpus.get(a), gpus.get(b)))
              .toList();
      for (int gpu : sorted) {
        if (free[gpu] < item[1] || clients[gpu] < 1 || usedBefore(at, gpu)) {
          continue;
        }
        free[gpu] -= item[1];
        clients[gpu]--;
        chosen[at] = gpu;
        boolean found = fits(at + 1);
        free[gpu] += item[1];
        clients[gpu]++;
        if (found) {
          return true;
        }
      }
      return false;
    }

    private boolean usedBefore(int at, int gpu) {
      var own = new HashSet<Integer>();
      for (int i = 0; i < at; i++) {
        if (items.get(i)[0] == items.get(at)[0]) {
          own.add(chosen[i]);
        }
      }
      return own.contains(gpu);
    }

    Placement placement() {
      var shares = new ArrayList<List<Placement.Share>>();
      demand.containers().forEach(c -> shares.add(new ArrayList<>()));
      for (int i = 0; i < items.size(); i++) {
        int[] item = items.get(i);
        String uuid = gpus.get(chosen[i]).uuid();
        shares.get(item[0]).add(new Placement.Share(uuid, item[1]));
      }
      var containers = new ArrayList<Placement.Container>();
      for (int i = 0; i < shares.size(); i++) {
        containers.add(new Placement.Container(demand.containers().get(i).name(), shares.get(i)));
      }
      return Placement.of(containers);
    }
  }
}
