package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.tranche.extender.explain.NodesForPod.SmallerShare;
import dev.tranche.extender.explain.ShareText;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.readapi.row.Candidate.CandidateGpu;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import java.time.Instant;
import java.util.Comparator;
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
  private static final int HOLDERS_MAX = 3;

  Decision withSmallerShare(@Nullable SmallerShare share) {
    return with(note, share);
  }

  /** Appends to the note. */
  Decision withNote(String more) {
    return with(note == null ? more : note + ". " + more, smallerShare);
  }

  /** Says who holds the GPU with the most free replicas, if no pod is evicted from it. */
  Decision namingHolders(Snapshot snapshot, View view) {
    if (note == null || !note.endsWith(Explain.NOTE_NO_PREEMPTION)) {
      return this;
    }
    return nodes.refused().stream()
        .flatMap(node -> node.gpus().stream())
        .max(Comparator.comparingInt(CandidateGpu::freeReplicas))
        .flatMap(gpu -> snapshot.gpu(gpu.uuid()))
        .map(gpu -> holders(gpu, view))
        .filter(holders -> !holders.isEmpty())
        .map(this::withNote)
        .orElse(this);
  }

  private static String holders(GpuRow row, View view) {
    List<Hold> named = row.gpu().holds().stream().filter(view::shows).toList();
    Stream<String> names =
        named.stream()
            .limit(HOLDERS_MAX)
            .map(
                hold ->
                    "%s (%s)"
                        .formatted(
                            hold.key(),
                            ShareText.fraction(
                                Holder.replicas(row.gpu(), hold),
                                Holder.replicasPerGpu(row.gpu(), hold))));
    Stream<String> others =
        named.size() < row.gpu().holds().size()
            ? Stream.of("pods of other namespaces")
            : Stream.empty();
    String holders = Stream.concat(names, others).collect(Collectors.joining(", "));
    return holders.isEmpty()
        ? ""
        : "GPU %d of node %s is held by %s"
            .formatted(row.gpu().view().index(), row.node().name(), holders);
  }

  private Decision with(@Nullable String itsNote, @Nullable SmallerShare share) {
    return new Decision(policy, time, itsNote, chosen, nodes, excludedCount, share);
  }
}
