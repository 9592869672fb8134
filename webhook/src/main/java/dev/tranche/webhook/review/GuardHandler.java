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
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.review.ReviewReader.Raw;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps pods from GPUs that they did not ask for. */
public final class GuardHandler extends PodReviewHandler {
  private static final String FAILED =
      "Tranche's guard failed on this pod because of a bug, so it is denied; ask your administrator"
          + " to read the webhook's log and to exempt the namespace for now (label"
          + " tranche.dev/guard: exempt).";
  private static final Logger LOG = LoggerFactory.getLogger(GuardHandler.class);

  private final Guard guard;
  private final GuardMode mode;
  private final AdmissionEvents events;

  /**
   * @param mode of the namespaces that this entry is called for
   */
  public GuardHandler(Guard guard, GuardMode mode, AdmissionEvents events, WebhookMetrics metrics) {
    super(ReviewKind.GUARD, metrics);
    this.guard = guard;
    this.mode = mode;
    this.events = events;
  }

  /**
   * Answers also after a defect of ours. An error would admit the pod where the failure policy is
   * Ignore, so whoever finds a defect would pass the guard. Where the guard only tells, or policies
   * decide, the pod is admitted.
   */
  @Override
  public Answer review(byte[] body) {
    try {
      return super.review(body);
    } catch (RuntimeException | StackOverflowError bug) {
      String uid = ReviewReader.uid(body);
      metrics.count(ReviewKind.GUARD, Outcome.FAILED);
      LOG.error("the guard failed on review {}", uid, bug);
      Verdict verdict =
          mode == GuardMode.VOID
              ? Verdict.of(new Mutation.Denied(FAILED, WebhookMetrics.UNREADABLE))
              : Verdict.UNCHANGED;
      return uid.isEmpty()
          ? new Answer.BadRequest("the guard failed on it, and it has no request.uid")
          : new Answer.Review(AdmissionReview.answer(uid, verdict));
    }
  }

  @Override
  Verdict decide(Raw.Request review) {
    if (!review.createsPod() && !review.addsEphemeralContainer()) {
      return Verdict.UNCHANGED;
    }
    var pod = new GuardedPod(review.namespace(), new PodView(review.object()), review.oldObject());
    var messages = new Messages();
    if (mode != GuardMode.AUDIT && SizeLimits.denyLarge(pod.view(), messages)) {
      return Verdict.of(messages.denial());
    }
    Verdict verdict = guard.judge(pod, mode);
    for (FindingOutcome found : verdict.found()) {
      metrics.guardFound(found);
      if (!review.dryRun()) {
        events.found(review.podName(), pod, found);
      }
    }
    return verdict;
  }
}
