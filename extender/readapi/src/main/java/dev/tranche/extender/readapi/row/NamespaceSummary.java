package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.readapi.row.ClusterSummary.WaitingPods;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What one namespace holds, and who waits there.
 *
 * @param replicasPerGpu null where GPUs are split into different numbers
 */
public record NamespaceSummary(
    Instant time,
    String namespace,
    int pods,
    int gpus,
    @Nullable Integer replicasPerGpu,
    Amount granted,
    Amount others,
    Pod.@Nullable Used used,
    WaitingPods waitingPods) {
  public static NamespaceSummary of(Snapshot snapshot, WaitingReasons reasons, String namespace) {
    View view = View.of(namespace);
    List<PodRow> own =
        snapshot.pods.stream().filter(row -> view.shows(row.pod().namespace())).toList();
    var granted = new AmountSum();
    var all = new AmountSum();
    int gpus = 0;
    for (GpuRow row : snapshot.gpus) {
      List<Hold> held = row.gpu().holds().stream().filter(view::shows).toList();
      if (!held.isEmpty()) {
        gpus++;
        held.forEach(hold -> granted.add(row, hold));
        all.addWhole(row);
      }
    }
    return new NamespaceSummary(
        snapshot.inspection.at(),
        namespace,
        (int) own.stream().filter(row -> row.state() != PodState.ENDED).count(),
        gpus,
        replicasPerGpu(snapshot),
        granted.amount(),
        all.without(granted),
        Pod.Used.sum(own.stream().flatMap(row -> Stream.ofNullable(row.used()))),
        WaitingPods.of(own, reasons));
  }

  /** Returns what turns a quota's replicas into GPUs; null where GPUs differ. */
  private static @Nullable Integer replicasPerGpu(Snapshot snapshot) {
    List<Integer> found =
        snapshot.gpus.stream().map(row -> row.gpu().view().replicas()).distinct().toList();
    return found.size() == 1 ? found.getFirst() : null;
  }
}
