package dev.tranche.extender.controller;

import dev.tranche.api.Printable;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.WatchedPod;
import io.fabric8.kubernetes.api.model.Event;
import io.vertx.core.Future;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes events for pods that ask for a share but were not mutated, because they were created
 * before the webhook or bypassed it. Nothing else reports them, and they run as if they had
 * requested nothing. Pods are passed in on the informer's thread; {@link #tick} runs on the
 * Ledger's loop.
 */
public final class UnmutatedPods implements Controller {
  static final String REASON = "GpuShareMissing";

  private final Set<String> schedulers;
  private final BooleanSupplier deciding;
  private final PodEventQueue events;

  /**
   * @param schedulerName the scheduler that the webhook sets for pods, besides the cluster's
   *     default one
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public UnmutatedPods(
      String schedulerName,
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      ExtenderMetrics metrics) {
    this.schedulers =
        Stream.of("", "default-scheduler", schedulerName).collect(Collectors.toUnmodifiableSet());
    this.deciding = deciding;
    this.events =
        new PodEventQueue(
            REASON,
            writer,
            metrics,
            "tranche.extender.unshared.events",
            "Events for pods that did not pass the webhook: dropped if there are too many.");
    metrics.gauge(
        "tranche.extender.unshared.pods",
        "Pods that request a share of a GPU and did not pass the webhook; 10,000 at most.",
        events::pods);
  }

  /** Whether a pod asks for a share that it does not have. Pods of other schedulers are ignored. */
  private boolean isUnmutated(WatchedPod pod) {
    return pod.unmetShare().isPresent() && schedulers.contains(pod.scheduler());
  }

  @Override
  public void podSeen(WatchedPod pod) {
    if (isUnmutated(pod)) {
      events.add(pod.key(), pod.uid(), message(pod.unmetShare().orElseThrow()));
    } else {
      podGone(pod.uid());
    }
  }

  @Override
  public void podGone(String uid) {
    events.remove(uid);
  }

  /** Once a second. */
  @Override
  public void tick() {
    if (deciding.getAsBoolean()) {
      events.tick();
    }
  }

  private static String message(String annotation) {
    return "this pod requests a share of a GPU (%s) but has none: it did not pass Tranche's webhook, so the annotation was not converted to a request. Recreate the pod; for a Deployment, use kubectl rollout restart."
        .formatted(Printable.value(annotation));
  }
}
