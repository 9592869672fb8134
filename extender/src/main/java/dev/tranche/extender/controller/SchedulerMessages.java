package dev.tranche.extender.controller;

import dev.tranche.extender.client.Workers;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.extender.watch.PodReader;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Future;
import java.util.Optional;

/**
 * Reads from the API server why kube-scheduler itself has not placed a pod, and which nodes the pod
 * excludes. For people's requests, one pod at a time.
 */
public final class SchedulerMessages implements AutoCloseable {
  private static final int MESSAGE_CHARS_MAX = 2_000;
  private final KubernetesClient client;
  private final Workers workers;

  /**
   * @param client with a request timeout that a person waits for
   */
  public SchedulerMessages(KubernetesClient client, ExtenderMetrics metrics) {
    this.client = client;
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

  private Future<Optional<Pod>> pod(String key) {
    String[] names = key.split("/", 2);
    return workers
        .submit(
            () -> Optional.ofNullable(client.pods().inNamespace(names[0]).withName(names[1]).get()))
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

  @Override
  public void close() {
    workers.close();
  }
}
