package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import dev.tranche.extender.explain.Refusals;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.readapi.json.Limits;
import dev.tranche.extender.snapshot.NodeFit;
import java.time.Instant;
import java.util.List;
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
    List<Candidate> fitted,
    int fittedCount,
    List<Candidate> refused,
    int refusedCount,
    List<NodeCount> refusedByReason,
    @JsonPropertyDescription(
            "Nodes that the pod's nodeSelector, affinity or tolerations exclude; only if kube-scheduler has not called filter for the pod.")
        @Nullable Integer excludedCount,
    @Nullable LargestShare smallerShare) {
  /** The largest share that would fit now. */
  @JsonClassDescription(
      "The largest smaller share that would fit now, on each GPU that the pod requests. Absent if the pod does not wait, no smaller share would fit, or its containers request different shares.")
  public record LargestShare(
      @Limits(minimum = 1) int replicas,
      @Limits(minimum = 1) int replicasPerGpu,
      @JsonPropertyDescription("A node where it would fit.") String node) {
    static LargestShare of(int replicas, GpuRequest request, String node) {
      return new LargestShare(replicas, request.demand().replicasPerGpu(), node);
    }
  }

  /** Which nodes fit, and one that was chosen. */
  record Fitting(@Nullable Candidate chosen, List<Candidate> shown, int count) {}

  static Decision of(
      String policy,
      @Nullable Instant time,
      @Nullable String note,
      Fitting fitting,
      List<NodeFit> shown,
      Refusals refusals,
      @Nullable Integer excludedCount) {
    return new Decision(
        policy,
        time,
        note,
        fitting.chosen(),
        fitting.shown(),
        fitting.count(),
        shown.stream().map(Candidate::of).toList(),
        refusals.count(),
        NodeCount.of(refusals),
        excludedCount,
        null);
  }

  Decision withSmallerShare(@Nullable LargestShare share) {
    return with(note, share);
  }

  /** Appends to the note. */
  Decision withNote(String more) {
    return with(note == null ? more : note + ". " + more, smallerShare);
  }

  private Decision with(@Nullable String itsNote, @Nullable LargestShare share) {
    return new Decision(
        policy,
        time,
        itsNote,
        chosen,
        fitted,
        fittedCount,
        refused,
        refusedCount,
        refusedByReason,
        excludedCount,
        share);
  }
}
