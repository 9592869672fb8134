package dev.tranche.webhook.review;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.metrics.WebhookMetrics.Outcome;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.review.ReviewReader.Raw;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.function.BiFunction;

/**
 * Answers updates of pods. It denies none: the API server itself refuses an update that changes
 * what is fixed, and goes on without an answer where the webhook does not read a review.
 */
public final class UpdateHandler implements ReviewHandler {
  /** The path of pods that have replicas. */
  public static final String PATH_FRACTION = ReviewKind.UPDATE_PATH + "/fraction";

  /** The path of pods that name devices which the guard takes away. */
  public static final String PATH_GUARD = ReviewKind.UPDATE_PATH + "/guard";

  private static final Mutation UNCHANGED = new Mutation.Unchanged(List.of());

  private final BiFunction<JsonNode, JsonNode, Mutation> restore;
  private final WebhookMetrics metrics;

  /**
   * @param restore takes the pod before and after the update
   */
  public UpdateHandler(BiFunction<JsonNode, JsonNode, Mutation> restore, WebhookMetrics metrics) {
    this.restore = restore;
    this.metrics = metrics;
  }

  @Override
  public Answer review(byte[] body) {
    long startNanos = System.nanoTime();
    return switch (ReviewReader.read(body)) {
      case Raw.Malformed(String reason) -> new Answer.BadRequest(reason);
      case Raw.Unreadable(String uid, String reason) -> {
        metrics.count(ReviewKind.UPDATE, Outcome.MALFORMED);
        yield new Answer.Review(Buffer.buffer(AdmissionReview.answer(uid, UNCHANGED)));
      }
      case Raw.Request pod when pod.updatesPod() && isSmall(pod) ->
          answer(pod.uid(), restore.apply(pod.oldObject(), pod.object()), startNanos);
      // Too large a pod, or a request that only the configuration's rules match.
      case Raw.Request other -> answer(other.uid(), UNCHANGED, startNanos);
    };
  }

  private static boolean isSmall(Raw.Request pod) {
    return !SizeLimits.hasTooManyContainers(pod.oldObject())
        && !SizeLimits.hasTooManyContainers(pod.object());
  }

  private Answer answer(String uid, Mutation mutation, long startNanos) {
    var answer = new Answer.Review(Buffer.buffer(AdmissionReview.answer(uid, mutation)));
    boolean patched = mutation instanceof Mutation.Patched;
    int warnings =
        mutation instanceof Mutation.Patched(var patch, List<String> sentences)
            ? sentences.size()
            : 0;
    metrics.admitted(
        ReviewKind.UPDATE,
        patched ? Outcome.PATCHED : Outcome.UNCHANGED,
        warnings,
        System.nanoTime() - startNanos);
    return answer;
  }
}
