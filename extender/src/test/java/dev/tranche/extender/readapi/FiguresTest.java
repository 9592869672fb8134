package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.GpuList;
import dev.tranche.extender.readapi.row.Holder;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.PodList;
import dev.tranche.extender.readapi.row.PodState;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Summary;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.process.fuzz.Seeds;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The API's figures against a sum that this test makes itself, from what the kubelets say in
 * PodResources.
 */
final class FiguresTest {
  private static final List<String> NODES = List.of("a", "b", "c");
  private static final int GPUS = 2;
  private static final int REPLICAS = 10;
  private static final int STEPS = 150;

  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final WaitingReasons reasons = new WaitingReasons(world.explanations);

  /** What each kubelet holds: replicas by pod and uuid. */
  private final Map<String, Map<String, Map<String, Integer>>> kubelets = new TreeMap<>();

  private final Map<String, PodFacts> bound = new HashMap<>();

  /** Nodes whose last report is older than a change on them. */
  private final Set<String> unreported = new HashSet<>(NODES);

  private int created;

  static LongStream seeds() {
    return LongStream.of(Seeds.of(8));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void figures_areWhatTheKubeletsHold(long seed) {
    var random = new Random(seed);
    for (String node : NODES) {
      kubelets.put(node, new TreeMap<>());
      report(node);
    }
    for (int step = 0; step < STEPS; step++) {
      String node = NODES.get(random.nextInt(NODES.size()));
      world.nowMs += random.nextInt(3_000);
      switch (random.nextInt(4)) {
        case 0, 1 -> admit(node, random);
        case 2 -> remove(random);
        default -> report(node);
      }
      rowsAddUp("seed %d, step %d".formatted(seed, step));
    }
    NODES.forEach(this::report);
    rowsAreTheKubelets("seed " + seed);
  }

  private static String uuid(String node, int gpu) {
    return node + gpu;
  }

  private Map<String, Map<String, Integer>> kubelet(@Nullable String node) {
    return Objects.requireNonNull(kubelets.get(String.valueOf(node)));
  }

  private int free(String node, String uuid) {
    return REPLICAS
        - kubelet(node).values().stream().mapToInt(held -> held.getOrDefault(uuid, 0)).sum();
  }

  /** A pod that the kubelet has admitted. Whether it names its GPU differs. */
  private void admit(String node, Random random) {
    int replicas = 1 + random.nextInt(4);
    String uuid = uuid(node, random.nextInt(GPUS));
    if (free(node, uuid) < replicas) {
      return;
    }
    String name = "p" + created++;
    PodFacts pod =
        random.nextBoolean()
            ? FakeWorld.pod(name, replicas, "tranche.dev/gpu=" + uuid)
            : FakeWorld.pod(name, replicas);
    kubelet(node).put("ns/" + name, Map.of(uuid, replicas));
    bound.put(name, pod.on(node));
    unreported.add(node);
    world.see(pod.on(node));
  }

  private void remove(Random random) {
    if (bound.isEmpty()) {
      return;
    }
    List<String> names = bound.keySet().stream().sorted().toList();
    String name = names.get(random.nextInt(names.size()));
    String node = String.valueOf(Objects.requireNonNull(bound.remove(name)).node());
    kubelet(node).remove("ns/" + name);
    world.state.apply(new Event.PodGone(name, "ns/" + name));
    report(node);
  }

  private void report(String node) {
    unreported.remove(node);
    world.holdings =
        kubelet(node).entrySet().stream()
            .collect(Collectors.toMap(Map.Entry::getKey, held -> Map.of("main", held.getValue())));
    var gpus = new FakeWorld.Gpu[GPUS];
    for (int i = 0; i < GPUS; i++) {
      gpus[i] = new FakeWorld.Gpu(uuid(node, i), 0.25, FakeWorld.GIB);
    }
    world.report(node, gpus);
  }

  private record Shown(List<Gpu> gpus, List<Pod> pods, Summary summary) {}

  private Shown shown() {
    Snapshot snapshot = Snapshot.of(world.inspection());
    var all = new ListQuery(Map.of(), ListQuery.LIMIT_MAX, "");
    return new Shown(
        GpuList.of(snapshot, View.ALL, all).items(),
        PodList.of(snapshot, reasons, View.ALL, all).items(),
        Summary.of(snapshot, reasons, all));
  }

  /** At any moment parts sum to the whole, whatever is not known yet. */
  private void rowsAddUp(String when) {
    Shown now = shown();
    double granted = 0;
    for (Gpu gpu : now.gpus()) {
      int held = gpu.holders().stream().mapToInt(Holder::replicas).sum();
      double share = gpu.granted().gpus().gpus();
      assertThat(share)
          .as(when)
          .isEqualTo(1 - (double) gpu.freeReplicas() / REPLICAS, within(1e-9));
      // What is more than its known pods hold may be held by pods whose GPU is not known yet.
      assertThat(held).as(when).isLessThanOrEqualTo(REPLICAS - gpu.freeReplicas());
      boolean known = !unreported.contains(gpu.node());
      if (known) {
        assertThat(held).as("%s: %s", when, gpu).isEqualTo(REPLICAS - gpu.freeReplicas());
      }
      assertThat(gpu.largestShareReplicas()).as(when).isLessThanOrEqualTo(gpu.freeReplicas());
      granted += share;
    }
    Summary summary = now.summary();
    assertThat(summary.whole().cluster().total().gpus().gpus()).isEqualTo(NODES.size() * GPUS);
    assertThat(summary.whole().cluster().granted().gpus().gpus())
        .as(when)
        .isEqualTo(granted, within(1e-3));
    double ofNodes =
        summary.nodes().stream().mapToDouble(n -> n.sums().granted().gpus().gpus()).sum();
    double ofModels =
        summary.whole().models().stream().mapToDouble(m -> m.sums().granted().gpus().gpus()).sum();
    assertThat(ofNodes).as(when).isEqualTo(granted, within(1e-3));
    assertThat(ofModels).as(when).isEqualTo(granted, within(1e-3));
    assertThat(now.pods()).as(when).hasSize(bound.size());
    for (Pod pod : now.pods()) {
      assertThat(pod.state()).as(when).isEqualTo(PodState.BOUND);
      double holds =
          Objects.requireNonNull(kubelet(pod.node()).get("ns/" + pod.name())).values().stream()
              .mapToInt(replicas -> replicas)
              .sum();
      // Either what the kubelet says, or nothing at all: never a part, and never 0.
      if (pod.granted() != null) {
        assertThat(pod.granted().gpus().gpus()).as(when).isEqualTo(holds / REPLICAS, within(1e-9));
      } else {
        assertThat(unreported).as("%s: %s", when, pod).contains(pod.node());
      }
    }
  }

  private void rowsAreTheKubelets(String when) {
    rowsAddUp(when);
    Shown now = shown();
    var held = new TreeMap<String, Map<String, Integer>>();
    for (Gpu gpu : now.gpus()) {
      for (Holder holder : gpu.holders()) {
        held.computeIfAbsent(holder.namespace() + "/" + holder.name(), pod -> new TreeMap<>())
            .put(gpu.uuid(), holder.replicas());
      }
    }
    var expected = new TreeMap<String, Map<String, Integer>>();
    kubelets.values().forEach(expected::putAll);
    assertThat(held).as(when).isEqualTo(expected);
    double sum =
        expected.values().stream().flatMap(pod -> pod.values().stream()).mapToInt(r -> r).sum();
    assertThat(now.summary().whole().cluster().granted().gpus().gpus())
        .as(when)
        .isEqualTo(sum / REPLICAS, within(1e-9));
    assertThat(
            now.pods().stream()
                .mapToDouble(p -> Objects.requireNonNull(p.granted()).gpus().gpus())
                .sum())
        .as(when)
        .isEqualTo(sum / REPLICAS, within(1e-9));
    assertThat(now.summary().whole().cluster().used().measuredGpus())
        .isEqualTo(NODES.size() * GPUS);
  }
}
