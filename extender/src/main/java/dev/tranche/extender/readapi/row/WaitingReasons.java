package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Explanations.Trace;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeFit;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Why pods wait, as the last filter call found. Safe on any thread. */
public final class WaitingReasons {
  static final Why NOT_ASKED =
      new Why(
          "NotAsked", "kube-scheduler has not asked this extender about the pod of late", 0, null);
  static final Why NOT_BOUND_YET =
      new Why("NotBoundYet", "some nodes fit; kube-scheduler has not bound the pod yet", 0, null);

  private final Function<String, Optional<Trace>> traces;

  public WaitingReasons(Explanations explanations) {
    this.traces = explanations::get;
  }

  /**
   * @param reason in one word
   * @param refusedNodes how many nodes were refused
   * @param decided time of the decision; null if there is none
   */
  public record Why(String reason, String message, int refusedNodes, @Nullable Instant decided) {
    JsonObject json() {
      var json = new JsonObject().put("reason", reason).put("message", message);
      return decided == null
          ? json
          : json.put("refusedNodes", refusedNodes).put("time", decided.toString());
    }
  }

  Why of(PodFacts pod) {
    return traces
        .apply(pod.key())
        .filter(trace -> trace.pod().uid().equals(pod.uid()))
        .map(WaitingReasons::of)
        .orElse(NOT_ASKED);
  }

  /** Returns the reason of the node that came nearest to fitting. */
  private static Why of(Trace trace) {
    var refused = trace.refused();
    Optional<Reason> reason =
        trace.fittingCount() > 0
            ? Optional.empty()
            : refused.nearest().stream()
                .findFirst()
                .map(NodeFit::outcome)
                .flatMap(outcome -> outcome.refusal());
    return reason
        .map(r -> new Why(name(r), r.sentence(), refused.count(), trace.at()))
        .orElseGet(
            () ->
                new Why(
                    NOT_BOUND_YET.reason(), NOT_BOUND_YET.message(), refused.count(), trace.at()));
  }

  /** Turns {@code TOO_FEW_GPUS} into {@code TooFewGpus}. */
  static String name(Reason reason) {
    return Stream.of(reason.name().split("_"))
        .map(word -> word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT))
        .collect(Collectors.joining());
  }
}
