package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.tranche.api.Printable;
import dev.tranche.extender.explain.WaitReason;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What there is, what is granted and in use; and who waits. */
public record ClusterSummary(
    Sums cluster, List<ModelSums> models, int modelCount, WaitingPods waitingPods) {
  /** Models that are shown, those with most GPUs; the others are only counted. */
  static final int MODELS_MAX = 100;

  /** The GPUs of one model. */
  public record ModelSums(String model, @JsonUnwrapped Sums sums) {}

  /** Pods that wait, by reason. */
  public record WaitingPods(int total, List<PodCount> byReason) {
    static WaitingPods of(List<PodRow> rows, WaitingReasons reasons) {
      var byReason = new TreeMap<String, PodCount>();
      int total = 0;
      for (PodRow row : rows) {
        if (row.state() == PodState.WAITING) {
          WaitReason why = reasons.cause(row.pod()).reason();
          total++;
          byReason.merge(
              why.toString(), new PodCount(why.toString(), why.sentence(), 1), PodCount::plus);
        }
      }
      return new WaitingPods(total, List.copyOf(byReason.values()));
    }
  }

  /** How many pods wait for one reason. */
  public record PodCount(String reason, String message, int pods) {
    private PodCount plus(PodCount other) {
      return new PodCount(reason, other.message, pods + other.pods);
    }
  }

  public static ClusterSummary of(Snapshot snapshot, WaitingReasons reasons) {
    var cluster = new Sums.Adder();
    Map<String, Sums.Adder> models = new TreeMap<>();
    for (GpuRow row : snapshot.gpus) {
      cluster.add(row);
      models.computeIfAbsent(row.gpu().view().model(), first -> new Sums.Adder()).add(row);
    }
    Comparator<Map.Entry<String, Sums.Adder>> bySize =
        Comparator.comparingInt(model -> model.getValue().gpus());
    return new ClusterSummary(
        cluster.sums(),
        models.entrySet().stream()
            .sorted(bySize.reversed())
            .limit(MODELS_MAX)
            .map(model -> new ModelSums(Printable.name(model.getKey()), model.getValue().sums()))
            .toList(),
        models.size(),
        WaitingPods.of(snapshot.pods, reasons));
  }
}
