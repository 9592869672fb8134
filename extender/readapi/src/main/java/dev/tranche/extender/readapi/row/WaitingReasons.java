package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Explanations.Trace;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Why pods wait, as the last filter call found. Safe on any thread. */
public final class WaitingReasons {
  static final Waiting NOT_ASKED =
      new Waiting(
          "NotFiltered",
          "kube-scheduler has not called this extender for the pod recently; it never does if its"
              + " own checks leave no node");
  static final Waiting NOT_BOUND_YET =
      new Waiting("NotBoundYet", "some nodes fit; kube-scheduler has not bound the pod yet");

  private final Function<String, Optional<Trace>> traces;

  public WaitingReasons(Explanations explanations) {
    this.traces = explanations::get;
  }

  /** Returns the pod as lists show it. */
  public Pod pod(PodRow row) {
    return Pod.of(row, of(row));
  }

  /** Why a pod waits; null where it does not. */
  public @Nullable Waiting of(PodRow row) {
    return row.state() == PodState.WAITING ? of(row.pod()) : null;
  }

  Waiting of(PodFacts pod) {
    return traces
        .apply(pod.key())
        .filter(trace -> trace.pod().uid().equals(pod.uid()))
        .map(WaitingReasons::of)
        .orElse(NOT_ASKED);
  }

  /** Returns the reason of the node that came nearest to fitting. */
  private static Waiting of(Trace trace) {
    var refused = trace.refused();
    Waiting why =
        trace.fittingCount() > 0
            ? NOT_BOUND_YET
            : refused.nearest().stream()
                .findFirst()
                .map(NodeFit::outcome)
                .flatMap(outcome -> outcome.refusal())
                .map(reason -> new Waiting(name(reason), reason.sentence()))
                .orElse(NOT_BOUND_YET);
    return new Waiting(why.reason(), why.message(), refused.count(), trace.at());
  }

  /** Turns {@code TOO_FEW_GPUS} into {@code TooFewGpus}. */
  static String name(Reason reason) {
    return Stream.of(reason.name().split("_"))
        .map(word -> word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT))
        .collect(Collectors.joining());
  }
}
