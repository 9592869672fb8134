package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.StreamSummary;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What changed since the event before. */
public record StreamChange(
    Instant time,
    @Nullable List<RowChange<Gpu>> gpus,
    @Nullable List<String> gpusRemoved,
    @Nullable List<RowChange<Pod>> pods,
    @Nullable List<String> podsRemoved,
    @Nullable StreamSummary summary) {
  boolean isEmpty() {
    return gpus == null
        && gpusRemoved == null
        && pods == null
        && podsRemoved == null
        && summary == null;
  }
}
