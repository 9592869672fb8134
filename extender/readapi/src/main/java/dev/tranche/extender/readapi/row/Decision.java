package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.tranche.extender.explain.NodesForPod.SmallerShare;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Which nodes a pod fits on, as last decided or as they are now.
 *
 * @param time of the decision
 */
public record Decision(
    String policy,
    @Nullable Instant time,
    @Nullable String note,
    @Nullable Candidate chosen,
    @JsonUnwrapped CandidateNodes nodes,
    @Nullable Integer excludedCount,
    @Nullable SmallerShare smallerShare) {
  /** Returns it with more sentences after its note; an empty one says nothing. */
  Decision with(List<String> more, @Nullable SmallerShare share) {
    String notes =
        Stream.concat(Stream.ofNullable(note), more.stream())
            .filter(each -> !each.isEmpty())
            .collect(Collectors.joining(". "));
    return new Decision(
        policy, time, notes.isEmpty() ? null : notes, chosen, nodes, excludedCount, share);
  }
}
