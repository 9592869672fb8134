package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.Survey;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitCauses;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Why pods wait, as found out last. Safe on any thread. */
public record WaitingReasons(Explanations explanations) {

  /** Returns the pod as lists show it. */
  public Pod pod(PodRow row) {
    return Pod.of(row, of(row));
  }

  /** Why a pod waits; null where it does not. */
  public @Nullable Waiting of(PodRow row) {
    PodFacts pod = row.pod();
    return waits(row) ? Waiting.of(cause(pod), explanations.trace(pod)) : null;
  }

  /** Returns the namespace and the reason of each pod that the summary counts as waiting. */
  public Stream<List<String>> waiting(Inspection now) {
    Set<String> held =
        now.nodes().stream()
            .flatMap(
                node ->
                    Stream.concat(
                        node.unplaced().stream(),
                        node.gpus().stream().flatMap(gpu -> gpu.holds().stream())))
            .map(Hold::uid)
            .collect(Collectors.toSet());
    return now.pods().stream()
        .filter(pod -> PodState.of(pod, held.contains(pod.uid())) == PodState.WAITING)
        .map(pod -> List.of(pod.namespace(), cause(pod).reason().toString()));
  }

  /** A pod for which others were evicted holds a GPU, and may still lack something else. */
  private static boolean waits(PodRow row) {
    return row.state() == PodState.WAITING
        || (row.state() == PodState.SCHEDULING && row.pod().preemption().nominatedNode() != null);
  }

  /** Returns what is known; until the nodes were surveyed for the pod, that is the condition. */
  WaitCause cause(PodFacts pod) {
    return explanations
        .cause(pod.uid())
        .orElseGet(() -> WaitCauses.of(pod, Survey.UNKNOWN, explanations.decided(pod)));
  }
}
