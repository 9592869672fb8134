package dev.tranche.extender.readapi.row;

import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Metadata;
import dev.tranche.extender.readapi.query.Page;
import java.time.Instant;
import java.util.List;

/** A page of GPUs, by node and index. */
public record GpuList(Instant time, Metadata metadata, List<Gpu> items) {
  public static GpuList of(Snapshot snapshot, View view, ListQuery query) {
    Page<Gpu> page =
        Page.of(
            snapshot.gpus,
            Snapshot.GpuRow::key,
            row -> Gpu.shown(row, view) && Gpu.admitted(row, query),
            row -> Gpu.of(row, view),
            query);
    return new GpuList(snapshot.inspection.at(), page.metadata(), page.rows());
  }
}
