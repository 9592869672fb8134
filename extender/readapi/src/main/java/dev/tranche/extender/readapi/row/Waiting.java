package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.Explanations.Trace;
import dev.tranche.extender.explain.WaitCause;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Why a pod waits.
 *
 * @param refusedNodes how many nodes the last decision refused; null without one
 * @param time of that decision; null without one
 */
public record Waiting(
    String reason,
    String message,
    @Nullable Integer refusedNodes,
    @Nullable Instant time,
    @Nullable String whatToDo) {
  /**
   * @param decided the last decision of filter on the pod
   */
  static Waiting of(WaitCause cause, Optional<Trace> decided) {
    return new Waiting(
        cause.reason().toString(),
        Printable.message(cause.message()),
        decided.map(trace -> trace.refused().count()).orElse(null),
        decided.map(Trace::at).orElse(null),
        cause.whatToDo());
  }
}
