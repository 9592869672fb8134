package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.StreamSummary;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** All rows, as the first event of a stream has them. {@link RowChanges} writes it row by row. */
public record StreamSnapshot(
    Instant time,
    @Nullable String clusterName,
    List<Gpu> gpus,
    List<Pod> pods,
    StreamSummary summary) {}
