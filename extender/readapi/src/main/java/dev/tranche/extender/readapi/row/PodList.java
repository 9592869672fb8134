package dev.tranche.extender.readapi.row;

import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Metadata;
import dev.tranche.extender.readapi.query.Page;
import java.time.Instant;
import java.util.List;

/** A page of pods, by namespace and name. */
public record PodList(Instant time, Metadata metadata, List<Pod> items) {
  public static PodList of(Snapshot snapshot, WaitingReasons reasons, View view, ListQuery query) {
    Page<Pod> page =
        Page.of(
            snapshot.pods,
            Snapshot.PodRow::key,
            row -> view.shows(row.pod().namespace()) && Pod.admitted(row, query),
            reasons::pod,
            query);
    return new PodList(snapshot.inspection.at(), page.metadata(), page.rows());
  }
}
