package dev.tranche.extender.controller;

import static java.util.Comparator.comparing;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.client.Workers;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Reads from the API server why kube-scheduler itself has not placed a pod, and which nodes the pod
 * excludes. For people's requests, one pod at a time.
 */
public final class SchedulerMessages {
  private static final int MESSAGE_CHARS_MAX = 2_000;
  private static final String PREFIX = "tranche.dev/";
  private static final List<String> SHARES = List.of(Names.GPU_FRACTION, Names.GPU_MEMORY);

  private final KubernetesClient client;
  private final Loop loop;
  private final Workers workers;

  /**
   * @param client with a request timeout that a person waits for
   */
  public SchedulerMessages(KubernetesClient client, Loop loop, ExtenderMetrics metrics) {
    this.client = client;
    this.loop = loop;
    this.workers = new Workers("explanations", 2, 8, metrics);
  }

  /**
   * Returns the message of the pod's condition {@code PodScheduled} while that is false. Returns
   * empty if there is none, or if the API server does not answer.
   *
   * @param key {@code namespace/name}
   */
  public Future<Optional<String>> of(String key) {
    return pod(key).map(pod -> pod.flatMap(SchedulerMessages::message));
  }

  /**
   * Returns the pod's constraints on nodes; empty without a pod, or if the API server does not
   * answer.
   *
   * @param key {@code namespace/name}
   */
  public Future<Optional<PodSelection>> selection(String key) {
    return pod(key).map(pod -> pod.map(PodReader::selection));
  }

  /**
   * Returns why Tranche leaves a pod alone, a clause; empty without a pod, or if the API server
   * does not answer.
   *
   * @param key {@code namespace/name}
   */
  public Future<Optional<String>> leftAlone(String key) {
    return pod(key).map(pod -> pod.map(SchedulerMessages::leftAlone));
  }

  static String leftAlone(Pod pod) {
    Map<String, String> annotations = pod.getMetadata().getAnnotations();
    Optional<String> ours =
        annotations.keySet().stream()
            .filter(key -> key.startsWith(PREFIX) || SHARES.contains(PREFIX + key))
            .min(comparing((String key) -> SHARES.stream().noneMatch(key::startsWith)));
    if (ours.isEmpty()) {
      return pod.getMetadata().getOwnerReferences().isEmpty()
          ? "it requests no GPU and has no annotation of Tranche's, such as " + Names.GPU_FRACTION
          : "it requests no GPU and has no annotation of Tranche's; those of a Deployment or Job"
              + " belong to its pod template, spec.template.metadata.annotations";
    }
    String key = Printable.name(ours.get());
    if (SHARES.stream().noneMatch(ours.get()::startsWith)) {
      return "its annotation %s requests no GPU; a share is %s or %s"
          .formatted(key, Names.GPU_FRACTION, Names.GPU_MEMORY);
    }
    String scheduler = pod.getSpec().getSchedulerName();
    return scheduler.equals("default-scheduler")
        ? "it has %s but no request of a GPU, so it did not pass Tranche's webhook; recreate it, or use kubectl rollout restart"
            .formatted(key)
        : "its schedulerName is %s, and Tranche gives %s to no pod of another scheduler; remove schedulerName and recreate it"
            .formatted(Printable.name(scheduler), key);
  }

  private Future<Optional<Pod>> pod(String key) {
    return loop.completeOnLoop(workers.submit(() -> PodReader.get(client, key)))
        .otherwise(Optional.empty());
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
