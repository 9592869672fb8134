package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One {@link Inspection} as sorted rows of GPUs and pods, for lists. Made on a worker. */
public final class Snapshot {
  /** Sorts before every character of a name. */
  private static final String SEPARATOR = "\n";

  private static final Snapshot NONE =
      new Snapshot(Inspection.NONE, List.of(), List.of(), Map.of());

  public final Inspection inspection;
  public final List<GpuRow> gpus;
  public final List<PodRow> pods;

  /** By node. */
  private final Map<Inspection.Node, NodeRows> nodes;

  /** A GPU and its node. */
  public record GpuRow(String key, Inspection.Node node, Inspection.Gpu gpu) {}

  /**
   * A pod and what it holds.
   *
   * @param gpus that it holds replicas of
   */
  public record PodRow(String key, PodFacts pod, Optional<Hold> hold, List<GpuRow> gpus) {
    /** Returns what the pod uses; null if nothing is known. */
    Pod.@Nullable Used used() {
      return Pod.Used.sum(
          hold.stream().flatMap(its -> gpus.stream().map(row -> Pod.Used.of(row.gpu(), its))));
    }

    public PodState state() {
      return PodState.of(pod, hold.isPresent());
    }

    @SuppressWarnings("ReferenceEquality")
    private boolean isUnchanged(PodFacts podNow, @Nullable Held heldNow) {
      return pod == podNow
          && (heldNow == null
              ? hold.isEmpty()
              : hold.orElse(null) == heldNow.hold() && gpus == heldNow.gpus());
    }
  }

  /** What one pod holds. */
  private record Held(Hold hold, List<GpuRow> gpus) {}

  /**
   * The rows of one node; the same object for as long as its {@link Inspection.Node} is.
   *
   * @param held by the pod's uid
   */
  private record NodeRows(List<GpuRow> gpus, Map<String, Held> held) {
    static NodeRows of(Inspection.Node node) {
      List<GpuRow> gpus = node.gpus().stream().map(gpu -> row(node, gpu)).toList();
      var held = new HashMap<String, Held>();
      node.unplaced().forEach(hold -> held.put(hold.uid(), new Held(hold, new ArrayList<>())));
      for (GpuRow row : gpus) {
        for (Hold hold : row.gpu().holds()) {
          held.computeIfAbsent(hold.uid(), uid -> new Held(hold, new ArrayList<>()))
              .gpus()
              .add(row);
        }
      }
      return new NodeRows(gpus, held);
    }

    private static GpuRow row(Inspection.Node node, Inspection.Gpu gpu) {
      var view = gpu.view();
      String index = "%05d".formatted(view.index());
      return new GpuRow(String.join(SEPARATOR, node.name(), index, view.uuid()), node, gpu);
    }
  }

  private Snapshot(
      Inspection inspection,
      List<GpuRow> gpus,
      List<PodRow> pods,
      Map<Inspection.Node, NodeRows> nodes) {
    this.inspection = inspection;
    this.gpus = gpus;
    this.pods = pods;
    this.nodes = nodes;
  }

  /** Returns the uuids of the GPUs that a view shows. */
  public Set<String> gpusOf(View view) {
    return gpus.stream()
        .filter(row -> Gpu.shown(row, view))
        .map(row -> row.gpu().view().uuid())
        .collect(Collectors.toUnmodifiableSet());
  }

  Optional<GpuRow> gpu(String uuid) {
    return gpus.stream().filter(row -> row.gpu().view().uuid().equals(uuid)).findFirst();
  }

  public static Snapshot of(Inspection inspection) {
    return of(inspection, NONE);
  }

  /**
   * @param before an earlier snapshot, whose rows are reused if they are the same
   */
  public static Snapshot of(Inspection inspection, Snapshot before) {
    var nodes = new IdentityHashMap<Inspection.Node, NodeRows>(inspection.nodes().size());
    var gpus = new ArrayList<GpuRow>(before.gpus.size());
    var held = HashMap.<String, Held>newHashMap(before.pods.size());
    for (Inspection.Node node : inspection.nodes()) {
      NodeRows known = before.nodes.get(node);
      NodeRows rows = known == null ? NodeRows.of(node) : known;
      nodes.put(node, rows);
      gpus.addAll(rows.gpus());
      held.putAll(rows.held());
    }
    gpus.sort(Comparator.comparing(GpuRow::key));
    return new Snapshot(inspection, gpus, pods(inspection.pods(), held, before.pods), nodes);
  }

  /**
   * Keeps the order of the earlier rows. To sort all pods each second would cost more than all
   * else.
   */
  private static List<PodRow> pods(
      List<PodFacts> facts, Map<String, Held> held, List<PodRow> before) {
    var left = HashMap.<String, PodFacts>newHashMap(facts.size());
    facts.forEach(pod -> left.put(pod.uid(), pod));
    var pods = new ArrayList<PodRow>(facts.size());
    for (PodRow row : before) {
      PodFacts pod = left.remove(row.pod().uid());
      if (pod != null) {
        Held its = held.get(pod.uid());
        pods.add(row.isUnchanged(pod, its) ? row : row(pod, its));
      }
    }
    if (!left.isEmpty()) {
      left.values().forEach(pod -> pods.add(row(pod, held.get(pod.uid()))));
      pods.sort(Comparator.comparing(PodRow::key));
    }
    return pods;
  }

  private static PodRow row(PodFacts pod, @Nullable Held held) {
    String key = String.join(SEPARATOR, pod.namespace(), pod.name(), pod.uid());
    return held == null
        ? new PodRow(key, pod, Optional.empty(), List.of())
        : new PodRow(key, pod, Optional.of(held.hold()), held.gpus());
  }
}
