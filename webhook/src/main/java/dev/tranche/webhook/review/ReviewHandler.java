package dev.tranche.webhook.review;

import io.vertx.core.buffer.Buffer;

/** Answers the reviews of one entry of the MutatingWebhookConfiguration; on an event loop. */
public interface ReviewHandler {
  /** The response to a review. */
  sealed interface Answer {
    /**
     * @param json an AdmissionReview
     */
    record Review(Buffer json) implements Answer {}

    /**
     * @param reason why the body is no review, a sentence
     */
    record BadRequest(String reason) implements Answer {}
  }

  Answer review(byte[] body);
}
