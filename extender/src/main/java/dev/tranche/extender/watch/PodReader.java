package dev.tranche.extender.watch;

import dev.tranche.extender.ledger.PodFields;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.process.client.KubernetesJson;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodList;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Reads the fields of a Pod that decisions need. */
public final class PodReader {
  private PodReader() {}

  /**
   * @param needsHostRequests whether the CPU and memory that pods request are needed, for policy
   *     {@code packed}
   */
  public static ResourceKind<Pod, WatchedPod> kind(
      List<String> resources, boolean needsHostRequests) {
    return new ResourceKind<>(
        "/api/v1/pods",
        Pod.class,
        PodList.class,
        pod -> watched(pod, resources, needsHostRequests),
        in -> new PodMessage(needsHostRequests).read(in).watched(resources, needsHostRequests));
  }

  private static WatchedPod watched(Pod pod, List<String> resources, boolean needsHostRequests) {
    String scheduler = Objects.requireNonNullElse(pod.getSpec().getSchedulerName(), "");
    String version = String.valueOf(pod.getMetadata().getResourceVersion());
    PodFields fields = fields(pod);
    return WatchedPod.of(
        fields.draft(), version, scheduler, fields.group(), resources, needsHostRequests);
  }

  public static PodFields fields(Pod pod) {
    return KubernetesJson.MAPPER.convertValue(pod, PodFields.class);
  }

  /** Returns the fields that restrict the pod's nodes. */
  public static PodSelection selection(Pod pod) {
    return KubernetesJson.MAPPER.convertValue(pod.getSpec(), PodSelection.class);
  }

  static Map<String, String> texts(@Nullable Map<String, Quantity> quantities) {
    var texts = new HashMap<String, String>();
    if (quantities != null) {
      quantities.forEach((resource, quantity) -> texts.put(resource, quantity.toString()));
    }
    return texts;
  }
}
