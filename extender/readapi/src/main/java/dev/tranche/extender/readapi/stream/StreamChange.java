package dev.tranche.extender.readapi.stream;

import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.StreamSummary;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What changed since the event before. */
@JsonClassDescription("What is absent has not changed. Rows that were not there before are whole.")
public record StreamChange(
    Instant time,
    @Nullable List<RowChange<Gpu>> gpus,
    @JsonPropertyDescription("The uuids of GPUs that are gone.") @Nullable List<String> gpusRemoved,
    @Nullable List<RowChange<Pod>> pods,
    @JsonPropertyDescription("Pods that are gone, as namespace/name.")
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
