package dev.tranche.extender.watch;

import dev.tranche.extender.ledger.PodFields;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.process.client.KubernetesJson;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;

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

  public static PodFields fields(Pod pod) {
    return KubernetesJson.MAPPER.convertValue(pod, PodFields.class);
  }

  /** Returns the fields that restrict the pod's nodes. */
  public static PodSelection selection(Pod pod) {
    return KubernetesJson.MAPPER.convertValue(pod.getSpec(), PodSelection.class);
  }
}
