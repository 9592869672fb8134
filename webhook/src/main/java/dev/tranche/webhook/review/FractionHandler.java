package dev.tranche.webhook.review;

import dev.tranche.api.Printable;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.webhook.events.AdmissionEvents;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.mutate.MutationRules.Cluster;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.review.ReviewReader.Raw;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Turns fractions into replicas. */
public final class FractionHandler extends PodReviewHandler {
  /** The path on which a plain {@code nvidia.com/gpu: N} requests whole GPUs. */
  public static final String PATH_PLAIN_GPUS = ReviewKind.FRACTION_PATH + "/plain-gpus";

  /** The path for namespaces whose plain requests stay as they are. */
  public static final String PATH_UNCHANGED = ReviewKind.FRACTION_PATH + "/plain-unchanged";

  /**
   * Path suffix for namespaces that HAMi's webhook ignores. HAMi's resources and annotations are
   * not translated there; those of other systems are.
   */
  public static final String WITHOUT_HAMI = "/without-hami";

  private static final Logger LOG = LoggerFactory.getLogger(FractionHandler.class);

  private final PodMutator mutator;
  private final Function<String, Cluster> cluster;
  private final AdmissionEvents events;

  /** Per namespace, since whoever creates pods there can cause lines. */
  private final LineLimiter denialLog = new LineLimiter(LOG, "denied pods of namespace");

  /**
   * @param cluster takes a snapshot for the review of a uid
   */
  public FractionHandler(
      PodMutator mutator,
      Function<String, Cluster> cluster,
      AdmissionEvents events,
      WebhookMetrics metrics) {
    super(ReviewKind.FRACTION, metrics);
    this.mutator = mutator;
    this.cluster = cluster;
    this.events = events;
  }

  @Override
  Verdict decide(Raw.Request request) {
    if (!request.createsPod()) {
      return Verdict.UNCHANGED;
    }
    Mutation mutation = mutator.mutate(request.object(), cluster.apply(request.uid()));
    if (mutation instanceof Mutation.Denied denied) {
      if (denialLog.tryAcquire(Printable.name(request.namespace()))) {
        LOG.info("pod {} denied: {}", request.podName(), denied.message());
      }
    } else if (!request.dryRun()) {
      events.warned(request.namespace(), request.object(), mutation.warnings());
    }
    return Verdict.of(mutation);
  }
}
