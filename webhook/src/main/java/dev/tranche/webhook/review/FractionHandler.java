package dev.tranche.webhook.review;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.process.log.LineLimiter;
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
  /** The path on which a plain {@code nvidia.com/gpu: N} requests whole GPUs. */
  public static final String PATH_PLAIN_GPUS = ReviewKind.FRACTION_PATH + "/plain-gpus";

  /** The path for namespaces whose plain requests stay as they are. */
  public static final String PATH_UNCHANGED = ReviewKind.FRACTION_PATH + "/plain-unchanged";

  /**
   * Path suffix for namespaces that HAMi's webhook ignores. HAMi's resources and annotations are
   * not translated there; those of other systems are.
   */
  public static final String WITHOUT_HAMI = "/without-hami";

  private static final Mutation UNCHANGED = new Mutation.Unchanged(List.of());
  private static final Logger LOG = LoggerFactory.getLogger(FractionHandler.class);

  private final PodMutator mutator;
  private final Supplier<MutationRules.Cluster> cluster;
  private final WebhookMetrics metrics;
  private final Warnings warnings;
  private final LineLimiter denialLog = new LineLimiter(LOG, "denied pods of namespace");

  /** Receives what admitted pods are warned of. */
  @FunctionalInterface
  public interface Warnings {
    /**
     * @param pod as it was created
     */
    void report(String namespace, JsonNode pod, List<String> warnings);
  }

  /** Warns only whoever creates the pod. */
  public FractionHandler(
      PodMutator mutator, Supplier<MutationRules.Cluster> cluster, WebhookMetrics metrics) {
    this(mutator, cluster, metrics, (namespace, pod, warnings) -> {});
  }

  public FractionHandler(
      PodMutator mutator,
      Supplier<MutationRules.Cluster> cluster,
      WebhookMetrics metrics,
      Warnings warnings) {
    this.mutator = mutator;
    this.cluster = cluster;
    this.metrics = metrics;
    this.warnings = warnings;
  }

  @Override
  public Answer review(byte[] body) {
    long startNanos = System.nanoTime();
    return switch (ReviewReader.read(body)) {
      case Raw.Malformed(String reason) -> new Answer.BadRequest(reason);
      case Raw.Unreadable(String uid, String reason) ->
          answer(uid, "", new Mutation.Denied(reason, WebhookMetrics.UNREADABLE), startNanos);
      case Raw.Request pod when pod.createsPod() -> {
        Mutation mutation = mutator.mutate(pod.object(), cluster.get().of(pod.uid()));
        if (!pod.dryRun()) {
          warnings.report(pod.namespace(), pod.object(), mutation.warnings());
        }
        yield answer(pod.uid(), pod.podName(), mutation, startNanos);
      }
      // The configuration's rules match more requests than this handler reviews.
      case Raw.Request other -> answer(other.uid(), "", UNCHANGED, startNanos);
    };
  }

  private Answer answer(String uid, String podName, Mutation mutation, long startNanos) {
    var answer = new Answer.Review(Buffer.buffer(AdmissionReview.answer(uid, mutation)));
    long tookNanos = System.nanoTime() - startNanos;
    switch (mutation) {
      case Mutation.Unchanged(var warnings) ->
          metrics.admitted(ReviewKind.FRACTION, Outcome.UNCHANGED, warnings.size(), tookNanos);
      case Mutation.Patched(var patch, var warnings) ->
          metrics.admitted(ReviewKind.FRACTION, Outcome.PATCHED, warnings.size(), tookNanos);
      case Mutation.Denied(String message, String reason) -> {
        metrics.denied(ReviewKind.FRACTION, reason, tookNanos);
        // The webhook logs per namespace, since whoever creates pods there can cause lines.
        if (denialLog.tryAcquire(podName.substring(0, Math.max(0, podName.indexOf('/'))))) {
          LOG.info("pod {} denied: {}", podName, message);
        }
      }
    }
    return answer;
  }
}
