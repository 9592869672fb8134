package dev.tranche.extender.watch;

import dev.tranche.extender.ledger.PodFields;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.process.client.KubernetesJson;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.List;
import java.util.Optional;

/** Reads the fields of a Pod that decisions need. */
public final class PodReader {
  private PodReader() {}

  /**
   * @param needsHostRequests whether the CPU and memory that pods request are needed, for policy
   *     {@code packed}
   */
  public static ResourceKind<?, WatchedPod> kind(
      List<String> resources, boolean needsHostRequests) {
    return new ResourceKind<>(
        "/api/v1/pods", PodFields.class, pod -> WatchedPod.of(pod, resources, needsHostRequests));
  }

  /**
   * Reads a pod from the API server; empty if there is none.
   *
   * @param key {@code namespace/name}
   */
  public static Optional<Pod> get(KubernetesClient client, String key) {
    String[] names = key.split("/", 2);
    return Optional.ofNullable(client.pods().inNamespace(names[0]).withName(names[1]).get());
  }

  public static PodFields fields(Pod pod) {
    return KubernetesJson.MAPPER.convertValue(pod, PodFields.class);
  }

  /** Returns the fields that restrict the pod's nodes. */
  public static PodSelection selection(Pod pod) {
    return KubernetesJson.MAPPER.convertValue(pod.getSpec(), PodSelection.class);
  }
}
