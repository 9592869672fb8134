package dev.tranche.extender.readapi.change;

import dev.tranche.extender.readapi.row.ClusterSummary;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is new since an earlier version. What is null has not changed.
 *
 * @param complete whether these are all rows, and the reader discards what it knows
 * @param gpus new rows, and of others the fields that changed with those that identify the row
 * @param gpusRemoved as {@code node/uuid}
 * @param pods likewise
 * @param podsRemoved as {@code namespace/name}
 */
record Change(
    String resourceVersion,
    Instant time,
    boolean complete,
    @Nullable String clusterName,
    @Nullable Iterable<?> gpus,
    @Nullable List<String> gpusRemoved,
    @Nullable Iterable<?> pods,
    @Nullable List<String> podsRemoved,
    @Nullable ClusterSummary summary) {}
