package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.WatchedPod;
import io.fabric8.kubernetes.api.model.Event;
import io.vertx.core.Future;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * Writes events for pods whose number of GPUs counts replicas, although it counts whole GPUs
 * elsewhere: the webhook does not see their namespace. Pods are passed in on the informer's thread;
 * {@link #tick} runs on the Ledger's loop.
 */
public final class UnconvertedNumbers implements Controller {
  static final String REASON = "GpuNumberCountsReplicas";

  private final Set<String> namespaces;
  private final String resource;
  private final BooleanSupplier deciding;
  private final PodEventQueue events;

  /**
   * @param namespaces those that the webhook does not see; none if a number counts replicas
   *     everywhere
   * @param resource the resource whose number the webhook converts
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public UnconvertedNumbers(
      Set<String> namespaces,
      String resource,
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      ExtenderMetrics metrics) {
    this.namespaces = Set.copyOf(namespaces);
    this.resource = resource;
    this.deciding = deciding;
    this.events =
        new PodEventQueue(
            REASON,
            writer,
            metrics,
            "tranche.extender.unconverted.events",
            "Events for pods whose number of GPUs counts replicas: dropped if there are too many.");
    metrics.gauge(
        "tranche.extender.unconverted.pods",
        "Pods in namespaces that the webhook does not see, whose number of GPUs counts replicas; 10,000 at most.",
        events::pods);
  }

  @Override
  public void podSeen(WatchedPod pod) {
    if (pod.facts().filter(this::countsReplicas).isPresent()) {
      events.add(pod.key(), pod.uid(), message(pod.facts().orElseThrow()));
    } else {
      podGone(pod.uid());
    }
  }

  /** A pod with a stamp states itself how many replicas its number counts. */
  private boolean countsReplicas(PodFacts pod) {
    return namespaces.contains(pod.namespace())
        && pod.resource().equals(resource)
        && !pod.ended()
        && pod.stampedReplicas().isEmpty();
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

  private String message(PodFacts pod) {
    return "this pod's number of %s counts replicas, which are parts of a GPU: the webhook does not see namespace %s, so it does not convert whole GPUs to replicas. Create the pod in another namespace. Or request the replicas of whole GPUs, and write the replicas of one GPU (node label %s) into the pod's annotation %s."
        .formatted(resource, pod.namespace(), Names.LABEL_REPLICAS_PER_GPU, Names.REPLICAS_PER_GPU);
  }
}
