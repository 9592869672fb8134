package dev.tranche.webhook.review;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.review.ReviewReader.Raw;
import java.util.function.BiFunction;

/**
 * Answers updates of pods. It denies none: the API server itself refuses an update that changes
 * what is fixed, and goes on without an answer where the webhook does not read a review.
 */
public final class UpdateHandler extends PodReviewHandler {
  /** The path of pods that have replicas. */
  public static final String PATH_FRACTION = ReviewKind.UPDATE_PATH + "/fraction";

  /** The path of pods that name devices which the guard takes away. */
  public static final String PATH_GUARD = ReviewKind.UPDATE_PATH + "/guard";

  private final BiFunction<JsonNode, JsonNode, Mutation> restore;

  /**
   * @param restore takes the pod before and after the update
   */
  public UpdateHandler(BiFunction<JsonNode, JsonNode, Mutation> restore, WebhookMetrics metrics) {
    super(ReviewKind.UPDATE, metrics);
    this.restore = restore;
  }

  @Override
  Verdict decide(Raw.Request pod) {
    boolean small =
        pod.updatesPod()
            && !SizeLimits.hasTooManyContainers(pod.oldObject())
            && !SizeLimits.hasTooManyContainers(pod.object());
    return small ? Verdict.of(restore.apply(pod.oldObject(), pod.object())) : Verdict.UNCHANGED;
  }

  @Override
  Verdict unreadable(String reason) {
    return Verdict.UNCHANGED;
  }
}
