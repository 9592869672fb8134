package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.tranche.api.Printable;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

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
      List<PodCount> byReason =
          rows.stream()
              .filter(row -> row.state() == PodState.WAITING)
              .collect(
                  Collectors.groupingBy(
                      row -> reasons.cause(row.pod()).reason(), Collectors.summingInt(row -> 1)))
              .entrySet()
              .stream()
              .map(of -> new PodCount(of.getKey().toString(), of.getKey().sentence, of.getValue()))
              .sorted(Comparator.comparing(PodCount::reason))
              .toList();
      return new WaitingPods(byReason.stream().mapToInt(PodCount::pods).sum(), byReason);
    }
  }

  /** How many pods wait for one reason. */
  public record PodCount(String reason, String message, int pods) {}

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
