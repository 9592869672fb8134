package dev.tranche.webhook;

import dev.tranche.webhook.AdmissionReview.Read;
import dev.tranche.webhook.WebhookMetrics.Outcome;
import dev.tranche.webhook.guard.Found;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.Verdict;
import io.vertx.core.buffer.Buffer;
import java.util.List;

/** Keeps pods from GPUs that they did not ask for. */
final class GuardEntry implements Entry {
  static final String PATH = "/mutate/guard";

  private final Guard guard;
  private final GuardMode mode;
  private final GuardEvents events;
  private final WebhookMetrics metrics;

  /**
   * @param mode of the namespaces that this entry is called for
   */
  GuardEntry(Guard guard, GuardMode mode, GuardEvents events, WebhookMetrics metrics) {
    this.guard = guard;
    this.mode = mode;
    this.events = events;
    this.metrics = metrics;
  }

  @Override
  public Answer review(byte[] body) {
    long startNanos = System.nanoTime();
    return switch (AdmissionReview.readGuarded(body)) {
      case Read.Malformed(String reason) -> new Answer.Bad(reason);
      case Read.Guarded review -> judge(review, startNanos);
      case Read.Refused(String uid, var denied) -> {
        metrics.admitted(Outcome.DENIED, 0, System.nanoTime() - startNanos);
        yield new Answer.Review(Buffer.buffer(AdmissionReview.answer(uid, denied)));
      }
      case Read.PodCreation(String uid, String who, var pod) -> unchanged(uid, startNanos);
      case Read.NotOurs(String uid) -> unchanged(uid, startNanos);
    };
  }

  private Answer unchanged(String uid, long startNanos) {
    var answer =
        new Answer.Review(
            Buffer.buffer(AdmissionReview.answer(uid, new Mutation.Unchanged(List.of()))));
    metrics.admitted(Outcome.UNCHANGED, 0, System.nanoTime() - startNanos);
    return answer;
  }

  private Answer judge(Read.Guarded review, long startNanos) {
    Verdict verdict = guard.judge(review.pod(), mode);
    var answer = new Answer.Review(Buffer.buffer(AdmissionReview.answer(review.uid(), verdict)));
    long tookNanos = System.nanoTime() - startNanos;
    switch (verdict) {
      case Verdict.Exempt exempt -> {
        metrics.guardExempt();
        metrics.admitted(Outcome.UNCHANGED, 0, tookNanos);
      }
      case Verdict.Admitted admitted -> {
        Outcome outcome = admitted.patch().isEmpty() ? Outcome.UNCHANGED : Outcome.PATCHED;
        metrics.admitted(outcome, admitted.warnings().size(), tookNanos);
        tell(review, admitted.found());
      }
      case Verdict.Denied denied -> {
        metrics.admitted(Outcome.DENIED, 0, tookNanos);
        tell(review, denied.found());
      }
    }
    return answer;
  }

  private void tell(Read.Guarded review, List<Found> found) {
    for (Found one : found) {
      metrics.guardFound(one);
      if (!review.dryRun()) {
        events.tell(review.who(), review.pod(), one);
      }
    }
  }
}
