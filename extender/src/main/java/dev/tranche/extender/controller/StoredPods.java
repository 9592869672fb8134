package dev.tranche.extender.controller;

import static java.util.Comparator.comparing;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.client.Workers;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.readapi.ReadApi.StoredPod;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Reads from the API server what is not kept of pods. For people's requests, one at a time. */
public final class StoredPods {
  private static final int MESSAGE_CHARS_MAX = 2_000;
  private static final String PREFIX = "tranche.dev/";

  private final KubernetesClient client;
  private final Loop loop;
  private final String schedulerName;
  private final Workers workers;

  /**
   * @param client with a request timeout that a person waits for
   * @param schedulerName the scheduler that the webhook sets
   */
  public StoredPods(
      KubernetesClient client, Loop loop, String schedulerName, ExtenderMetrics metrics) {
    this.client = client;
    this.loop = loop;
    this.schedulerName = schedulerName;
    this.workers = new Workers("explanations", 2, 8, metrics);
  }

  /**
   * Reads a pod; empty without one, or if the API server does not answer.
   *
   * @param key {@code namespace/name}
   */
  public Future<Optional<StoredPod>> of(String key) {
    return loop.completeOnLoop(workers.submit(() -> PodReader.get(client, key).map(this::read)))
        .otherwise(Optional.empty());
  }

  private StoredPod read(Pod pod) {
    return new StoredPod(
        PodReader.selection(pod), message(pod), () -> leftAlone(pod, schedulerName));
  }

  static String leftAlone(Pod pod, String schedulerName) {
    Map<String, String> annotations = pod.getMetadata().getAnnotations();
    if (annotations.containsKey(Names.SERVED_BY)) {
      return "its annotation %s leaves it to nodes that Tranche does not serve"
          .formatted(Names.SERVED_BY);
    }
    // With another prefix or none, they are meant as ours.
    Optional<String> ours =
        annotations.keySet().stream()
            .filter(
                key ->
                    key.startsWith(PREFIX)
                        || Names.requestsShare(PREFIX + key.substring(key.indexOf('/') + 1)))
            .min(comparing((String key) -> !Names.requestsShare(key)));
    if (ours.isEmpty()) {
      return pod.getMetadata().getOwnerReferences().isEmpty()
          ? "it requests no GPU and has no annotation of Tranche's, such as " + Names.GPU_FRACTION
          : "it requests no GPU and has no annotation of Tranche's; those of a Deployment or Job"
              + " belong to its pod template, spec.template.metadata.annotations";
    }
    String key = Printable.name(ours.get());
    if (!Names.requestsShare(ours.get())) {
      return "its annotation %s requests no GPU; a share is %s or %s"
          .formatted(key, Names.GPU_FRACTION, Names.GPU_MEMORY);
    }
    String scheduler = Objects.requireNonNullElse(pod.getSpec().getSchedulerName(), "");
    return PodRules.schedulers(schedulerName).contains(scheduler)
        ? "it has %s but no request of a GPU, so it did not pass Tranche's webhook; recreate it, or use kubectl rollout restart"
            .formatted(key)
        : "its schedulerName is %s, and Tranche gives %s to no pod of another scheduler; remove schedulerName and recreate it"
            .formatted(Printable.name(scheduler), key);
  }

  private static Optional<String> message(Pod pod) {
    return pod.getStatus() == null
        ? Optional.empty()
        : pod.getStatus().getConditions().stream()
            .filter(c -> c.getType().equals("PodScheduled") && c.getStatus().equals("False"))
            .flatMap(c -> Optional.ofNullable(c.getMessage()).stream())
            .map(m -> m.length() <= MESSAGE_CHARS_MAX ? m : m.substring(0, MESSAGE_CHARS_MAX) + "…")
            .findFirst();
  }
}
