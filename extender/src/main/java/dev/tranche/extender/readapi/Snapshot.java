package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One inspection in the order and by the names that lists are asked for. Made on a worker. */
final class Snapshot {
  /** Sorts before all that a name may hold. */
  private static final String SEPARATOR = "\n";

  final Inspection inspection;
  final List<GpuRow> gpus;
  final List<PodRow> pods;

  /** A GPU where it is. */
  record GpuRow(String key, Inspection.Node node, Inspection.Gpu gpu) {}

  /**
   * A pod and what it holds.
   *
   * @param gpus that it holds replicas of
   */
  record PodRow(String key, PodFacts pod, Optional<Hold> hold, List<GpuRow> gpus) {
    PodState state() {
      return PodState.of(pod, hold.isPresent());
    }
  }

  private Snapshot(Inspection inspection, List<GpuRow> gpus, List<PodRow> pods) {
    this.inspection = inspection;
    this.gpus = gpus;
    this.pods = pods;
  }

  static Snapshot of(Inspection inspection) {
    var gpus = new ArrayList<GpuRow>();
    var holds = new HashMap<String, Hold>();
    var held = new HashMap<String, List<GpuRow>>();
    for (Inspection.Node node : inspection.nodes()) {
      node.unplaced().forEach(hold -> holds.put(hold.uid(), hold));
      for (Inspection.Gpu gpu : node.gpus()) {
        var view = gpu.view();
        String key =
            String.join(SEPARATOR, node.name(), "%05d".formatted(view.index()), view.uuid());
        var row = new GpuRow(key, node, gpu);
        gpus.add(row);
        for (Hold hold : gpu.holds()) {
          holds.put(hold.uid(), hold);
          held.computeIfAbsent(hold.uid(), uid -> new ArrayList<>()).add(row);
        }
      }
    }
    gpus.sort(Comparator.comparing(GpuRow::key));
    return new Snapshot(inspection, gpus, pods(inspection.pods(), holds, held));
  }

  private static List<PodRow> pods(
      List<PodFacts> facts, Map<String, Hold> holds, Map<String, List<GpuRow>> held) {
    var pods = new ArrayList<PodRow>(facts.size());
    for (PodFacts pod : facts) {
      String key = String.join(SEPARATOR, pod.namespace(), pod.name(), pod.uid());
      Optional<Hold> hold = Optional.ofNullable(holds.get(pod.uid()));
      pods.add(new PodRow(key, pod, hold, held.getOrDefault(pod.uid(), List.of())));
    }
    pods.sort(Comparator.comparing(PodRow::key));
    return pods;
  }
}
