package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Metadata;
import dev.tranche.extender.readapi.query.Page;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.StreamSummary.ModelSums;
import dev.tranche.extender.readapi.row.StreamSummary.WaitingPods;
import dev.tranche.extender.readapi.row.Sums.UsedAmount;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What there is, what is granted and in use; and who waits. With a page of the nodes. */
public record Summary(
    Instant time,
    Sums cluster,
    List<ModelSums> models,
    int modelCount,
    WaitingPods waitingPods,
    Metadata metadata,
    List<NodeSums> nodes) {
  /** The GPUs of one node. */
  public record NodeSums(
      String node, Amount total, Amount healthy, Amount granted, UsedAmount used) {
    static NodeSums of(Map.Entry<String, Sums.Adder> node) {
      Sums sums = node.getValue().sums();
      return new NodeSums(
          Printable.name(node.getKey()), sums.total(), sums.healthy(), sums.granted(), sums.used());
    }
  }

  public static Summary of(
      Snapshot snapshot, WaitingReasons reasons, ListQuery query, Instant now) {
    Map<String, Sums.Adder> nodes = new TreeMap<>();
    for (GpuRow row : snapshot.gpus) {
      nodes.computeIfAbsent(row.node().name(), first -> new Sums.Adder()).add(row);
    }
    Page<NodeSums> page =
        Page.of(
            List.copyOf(nodes.entrySet()),
            Map.Entry::getKey,
            all -> true,
            NodeSums::of,
            query,
            now);
    StreamSummary summary = StreamSummary.of(snapshot, reasons);
    return new Summary(
        snapshot.inspection.at(),
        summary.cluster(),
        summary.models(),
        summary.modelCount(),
        summary.waitingPods(),
        page.metadata(),
        page.rows());
  }
}
