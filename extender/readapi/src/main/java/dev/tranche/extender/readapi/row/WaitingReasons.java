package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Survey;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitCauses;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import org.jspecify.annotations.Nullable;

/** Why pods wait, as found out last. Safe on any thread. */
public final class WaitingReasons {
  private final Explanations explanations;

  public WaitingReasons(Explanations explanations) {
    this.explanations = explanations;
  }

  /** Returns the pod as lists show it. */
  public Pod pod(PodRow row) {
    return Pod.of(row, of(row));
  }

  /** Why a pod waits; null where it does not. */
  public @Nullable Waiting of(PodRow row) {
    return waits(row) ? of(row.pod()) : null;
  }

  Waiting of(PodFacts pod) {
    return Waiting.of(cause(pod), explanations.trace(pod));
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
