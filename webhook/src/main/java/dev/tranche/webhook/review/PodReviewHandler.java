package dev.tranche.webhook.review;

import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.review.ReviewReader.Raw;

/** Reads a review, has it decided, answers it and counts it. */
abstract class PodReviewHandler implements ReviewHandler {
  private final ReviewKind kind;
  final WebhookMetrics metrics;

  PodReviewHandler(ReviewKind kind, WebhookMetrics metrics) {
    this.kind = kind;
    this.metrics = metrics;
  }

  /** Decides. The configuration's rules may match more requests than the handler reviews. */
  abstract Verdict decide(Raw.Request request);

  @Override
  public Answer review(byte[] body) {
    long startNanos = System.nanoTime();
    return switch (ReviewReader.read(body)) {
      case Raw.Malformed(String reason) -> new Answer.BadRequest(reason);
      case Raw.Unreadable(String uid, String reason) -> answer(uid, unreadable(reason), startNanos);
      case Raw.Request request -> answer(request.uid(), decide(request), startNanos);
    };
  }

  /** Returns the answer to a review that is not read. */
  Verdict unreadable(String reason) {
    return Verdict.of(new Mutation.Denied(reason, WebhookMetrics.UNREADABLE));
  }

  private Answer answer(String uid, Verdict verdict, long startNanos) {
    var answer = new Answer.Review(AdmissionReview.answer(uid, verdict));
    metrics.answered(kind, verdict.mutation(), System.nanoTime() - startNanos);
    return answer;
  }
}
