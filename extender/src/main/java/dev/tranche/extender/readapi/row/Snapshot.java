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
import org.jspecify.annotations.Nullable;

/** One inspection in the order and by the names that lists are asked for. Made on a worker. */
public final class Snapshot {
  /** Sorts before all that a name may hold. */
  private static final String SEPARATOR = "\n";

  private static final Snapshot NONE =
      new Snapshot(new Inspection(List.of(), Map.of(), 0), List.of(), List.of(), Map.of());

  public final Inspection inspection;
  public final List<GpuRow> gpus;
  public final List<PodRow> pods;

  /** By node. */
  private final Map<Inspection.Node, List<GpuRow>> rows;

  /** A GPU where it is. */
  public record GpuRow(String key, Inspection.Node node, Inspection.Gpu gpu) {}

  /**
   * A pod and what it holds.
   *
   * @param gpus that it holds replicas of
   */
  public record PodRow(String key, PodFacts pod, Optional<Hold> hold, List<GpuRow> gpus) {
    public PodState state() {
      return PodState.of(pod, hold.isPresent());
    }

    @SuppressWarnings("ReferenceEquality")
    private boolean isOf(PodFacts podNow, @Nullable Hold holdNow, List<GpuRow> gpusNow) {
      return pod == podNow && hold.orElse(null) == holdNow && sameObjects(gpusNow);
    }

    @SuppressWarnings("ReferenceEquality")
    private boolean sameObjects(List<GpuRow> gpusNow) {
      for (int i = 0; i < gpusNow.size(); i++) {
        if (i == gpus.size() || gpus.get(i) != gpusNow.get(i)) {
          return false;
        }
      }
      return gpus.size() == gpusNow.size();
    }
  }

  private Snapshot(
      Inspection inspection,
      List<GpuRow> gpus,
      List<PodRow> pods,
      Map<Inspection.Node, List<GpuRow>> rows) {
    this.inspection = inspection;
    this.gpus = gpus;
    this.pods = pods;
    this.rows = rows;
  }

  public static Snapshot of(Inspection inspection) {
    return of(inspection, NONE);
  }

  /**
   * @param before whose rows are taken where they are the same
   */
  public static Snapshot of(Inspection inspection, Snapshot before) {
    var rows = new IdentityHashMap<Inspection.Node, List<GpuRow>>(inspection.nodes().size());
    var gpus = new ArrayList<GpuRow>();
    var holds = new HashMap<String, Hold>();
    var held = new HashMap<String, List<GpuRow>>();
    for (Inspection.Node node : inspection.nodes()) {
      node.unplaced().forEach(hold -> holds.put(hold.uid(), hold));
      List<GpuRow> known = before.rows.get(node);
      List<GpuRow> its = known == null ? rows(node) : known;
      rows.put(node, its);
      gpus.addAll(its);
      for (GpuRow row : its) {
        for (Hold hold : row.gpu().holds()) {
          holds.put(hold.uid(), hold);
          held.computeIfAbsent(hold.uid(), uid -> new ArrayList<>()).add(row);
        }
      }
    }
    gpus.sort(Comparator.comparing(GpuRow::key));
    return new Snapshot(inspection, gpus, pods(inspection.pods(), holds, held, before), rows);
  }

  private static List<GpuRow> rows(Inspection.Node node) {
    return node.gpus().stream()
        .map(
            gpu -> {
              var view = gpu.view();
              String index = "%05d".formatted(view.index());
              String key = String.join(SEPARATOR, node.name(), index, view.uuid());
              return new GpuRow(key, node, gpu);
            })
        .toList();
  }

  private static List<PodRow> pods(
      List<PodFacts> facts,
      Map<String, Hold> holds,
      Map<String, List<GpuRow>> held,
      Snapshot before) {
    var pods = new ArrayList<PodRow>(facts.size());
    var known = HashMap.<String, PodRow>newHashMap(before.pods.size());
    before.pods.forEach(row -> known.put(row.pod().uid(), row));
    for (PodFacts pod : facts) {
      Hold hold = holds.get(pod.uid());
      List<GpuRow> on = held.getOrDefault(pod.uid(), List.of());
      PodRow row = known.get(pod.uid());
      pods.add(row != null && row.isOf(pod, hold, on) ? row : row(pod, hold, on));
    }
    pods.sort(Comparator.comparing(PodRow::key));
    return pods;
  }

  private static PodRow row(PodFacts pod, @Nullable Hold hold, List<GpuRow> gpus) {
    String key = String.join(SEPARATOR, pod.namespace(), pod.name(), pod.uid());
    return new PodRow(key, pod, Optional.ofNullable(hold), gpus);
  }
}
