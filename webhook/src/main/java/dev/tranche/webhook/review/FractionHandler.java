package dev.tranche.webhook.review;

import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.metrics.WebhookMetrics.Outcome;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.review.ReviewReader.Raw;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Turns fractions into replicas. */
public final class FractionHandler implements ReviewHandler {
  /** Where a plain number counts whole GPUs. */
  public static final String PATH_PLAIN_GPUS = ReviewKind.FRACTION_PATH + "/plain-gpus";

  /** For namespaces that HAMi's webhook leaves alone: our words, and others' but for HAMi's. */
  public static final String WITHOUT_HAMI = "/without-hami";

  private static final Mutation UNCHANGED = new Mutation.Unchanged(List.of());
  private static final Logger LOG = LoggerFactory.getLogger(FractionHandler.class);

  private final PodMutator mutator;
  private final Supplier<MutationRules.Cluster> cluster;
  private final WebhookMetrics metrics;

  public FractionHandler(
      PodMutator mutator, Supplier<MutationRules.Cluster> cluster, WebhookMetrics metrics) {
    this.mutator = mutator;
    this.cluster = cluster;
    this.metrics = metrics;
  }

  @Override
  public Answer review(byte[] body) {
    long startNanos = System.nanoTime();
    return switch (ReviewReader.read(body, ReviewReader.Keep.POD)) {
      case Raw.Broken(String reason) -> new Answer.Bad(reason);
      case Raw.Unread(String uid, String reason) ->
          answer(uid, "", new Mutation.Denied(reason, WebhookMetrics.UNREADABLE), startNanos);
      case Raw.Request pod when pod.creates() ->
          answer(pod.uid(), pod.who(), mutator.mutate(pod.object(), cluster.get()), startNanos);
      // A rule of the configuration is wider than ours.
      case Raw.Request other -> answer(other.uid(), "", UNCHANGED, startNanos);
    };
  }

  private Answer answer(String uid, String who, Mutation mutation, long startNanos) {
    var answer = new Answer.Review(Buffer.buffer(AdmissionReview.answer(uid, mutation)));
    long tookNanos = System.nanoTime() - startNanos;
    switch (mutation) {
      case Mutation.Unchanged(var warnings) ->
          metrics.admitted(ReviewKind.FRACTION, Outcome.UNCHANGED, warnings.size(), tookNanos);
      case Mutation.Patched(var patch, var warnings) ->
          metrics.admitted(ReviewKind.FRACTION, Outcome.PATCHED, warnings.size(), tookNanos);
      case Mutation.Denied(String message, String reason) -> {
        metrics.denied(ReviewKind.FRACTION, reason, tookNanos);
        LOG.info("pod {} denied: {}", who, message);
      }
    }
    return answer;
  }
}
