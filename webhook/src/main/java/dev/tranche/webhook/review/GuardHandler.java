package dev.tranche.webhook.review;

import dev.tranche.webhook.events.AdmissionEvents;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.GuardedPod;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.metrics.WebhookMetrics.Outcome;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.review.ReviewReader.Raw;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps pods from GPUs that they did not ask for. */
public final class GuardHandler implements ReviewHandler {
  private static final Mutation UNCHANGED = new Mutation.Unchanged(List.of());
  private static final String FAILED =
      "Tranche's guard failed on this pod because of a bug, and the pod names GPUs, their devices, NVIDIA_VISIBLE_DEVICES or limits of its share, so it is denied; remove these, or ask your administrator to read the webhook's log and to exempt the namespace for now (label tranche.dev/guard: exempt).";
  private static final Logger LOG = LoggerFactory.getLogger(GuardHandler.class);

  private final Guard guard;
  private final GuardMode mode;
  private final AdmissionEvents events;
  private final WebhookMetrics metrics;

  /**
   * @param mode of the namespaces that this entry is called for
   */
  public GuardHandler(Guard guard, GuardMode mode, AdmissionEvents events, WebhookMetrics metrics) {
    this.guard = guard;
    this.mode = mode;
    this.events = events;
    this.metrics = metrics;
  }

  @Override
  public Answer review(byte[] body) {
    try {
      return reviewOrThrow(body);
    } catch (RuntimeException | StackOverflowError bug) {
      return answerFailure(body, bug);
    }
  }

  /** Answers after a defect of ours. An error would admit the pod, so a suspect pod is denied. */
  private Answer answerFailure(byte[] body, Throwable bug) {
    String uid = ReviewReader.uid(body);
    boolean denied = !uid.isEmpty() && guard.onFailure(body).isSuspect(mode);
    metrics.count(ReviewKind.GUARD, Outcome.FAILED);
    metrics.guardFailed(denied);
    LOG.error("the guard failed on review {}, {}", uid, denied ? "denied" : "admitted", bug);
    return uid.isEmpty()
        ? new Answer.BadRequest("the guard failed on it, and it has no request.uid")
        : new Answer.Review(
            Buffer.buffer(
                denied
                    ? AdmissionReview.denial(uid, FAILED)
                    : AdmissionReview.answer(uid, UNCHANGED)));
  }

  private Answer reviewOrThrow(byte[] body) {
    long startNanos = System.nanoTime();
    return switch (ReviewReader.read(body)) {
      case Raw.Malformed(String reason) -> new Answer.BadRequest(reason);
      case Raw.Unreadable(String uid, String reason) ->
          deny(uid, reason, WebhookMetrics.UNREADABLE, startNanos);
      case Raw.Request review when review.createsPod() ->
          judge(review, GuardedPod.created(review.namespace(), review.object()), startNanos);
      case Raw.Request review when review.addsEphemeralContainer() ->
          judge(
              review,
              new GuardedPod(review.namespace(), new PodView(review.object()), review.oldObject()),
              startNanos);
      // The configuration's rules match more requests than this handler reviews.
      case Raw.Request other -> unchanged(other.uid(), startNanos);
    };
  }

  private Answer unchanged(String uid, long startNanos) {
    var answer = new Answer.Review(Buffer.buffer(AdmissionReview.answer(uid, UNCHANGED)));
    metrics.admitted(ReviewKind.GUARD, Outcome.UNCHANGED, 0, System.nanoTime() - startNanos);
    return answer;
  }

  private Answer deny(String uid, String message, String reason, long startNanos) {
    metrics.denied(ReviewKind.GUARD, reason, System.nanoTime() - startNanos);
    return new Answer.Review(Buffer.buffer(AdmissionReview.denial(uid, message)));
  }

  private Answer judge(Raw.Request review, GuardedPod pod, long startNanos) {
    var tooLarge =
        mode == GuardMode.AUDIT ? Optional.<Problem>empty() : SizeLimits.tooLarge(pod.view());
    if (tooLarge.isPresent()) {
      Problem problem = tooLarge.get();
      return deny(review.uid(), problem.sentence(), problem.denial().toString(), startNanos);
    }
    Verdict verdict = guard.judge(pod, mode);
    var answer = new Answer.Review(Buffer.buffer(AdmissionReview.answer(review.uid(), verdict)));
    long tookNanos = System.nanoTime() - startNanos;
    switch (verdict) {
      case Verdict.Exempt exempt -> {
        metrics.guardExempt.increment();
        metrics.admitted(ReviewKind.GUARD, Outcome.UNCHANGED, 0, tookNanos);
      }
      case Verdict.Admitted admitted -> {
        Outcome outcome = admitted.patch().isEmpty() ? Outcome.UNCHANGED : Outcome.PATCHED;
        metrics.admitted(ReviewKind.GUARD, outcome, admitted.warnings().size(), tookNanos);
        report(review, pod, admitted.found());
      }
      case Verdict.Denied(Problem problem) ->
          metrics.denied(ReviewKind.GUARD, problem.denial().toString(), tookNanos);
    }
    return answer;
  }

  private void report(Raw.Request review, GuardedPod pod, List<FindingOutcome> found) {
    for (FindingOutcome one : found) {
      metrics.guardFound(one);
      if (!review.dryRun()) {
        events.found(review.podName(), pod, one);
      }
    }
  }
}
