package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.tranche.api.Printable;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Metadata;
import dev.tranche.extender.readapi.query.Page;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What there is, what is granted and in use; and who waits. With a page of the nodes. */
public record Summary(
    Instant time, @JsonUnwrapped ClusterSummary whole, Metadata metadata, List<NodeSums> nodes) {
  /** The GPUs of one node. */
  public record NodeSums(String node, @JsonUnwrapped Sums sums) {}

  public static Summary of(Snapshot snapshot, WaitingReasons reasons, ListQuery query) {
    Map<String, Sums.Adder> nodes = new TreeMap<>();
    for (GpuRow row : snapshot.gpus) {
      nodes.computeIfAbsent(row.node().name(), first -> new Sums.Adder()).add(row);
    }
    Page<NodeSums> page =
        Page.of(
            List.copyOf(nodes.entrySet()),
            Map.Entry::getKey,
            all -> true,
            node -> new NodeSums(Printable.name(node.getKey()), node.getValue().sums()),
            query);
    return new Summary(
        snapshot.inspection.at(),
        ClusterSummary.of(snapshot, reasons),
        page.metadata(),
        page.rows());
  }
}
