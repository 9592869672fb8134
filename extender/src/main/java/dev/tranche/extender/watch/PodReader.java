package dev.tranche.extender.watch;

import dev.tranche.extender.ledger.PodDraft;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.score.packing.HostRequest;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodList;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads of a Pod what we decide on. */
public final class PodReader {
  private PodReader() {}

  /**
   * @param packs whether what pods request beside GPUs is asked about
   */
  public static ResourceKind<Pod, WatchedPod> kind(List<String> resources, boolean packs) {
    return new ResourceKind<>(
        "/api/v1/pods",
        Pod.class,
        PodList.class,
        pod -> watched(pod, resources, packs),
        in -> new PodMessage().read(in).watched(resources, packs));
  }

  private static WatchedPod watched(Pod pod, List<String> resources, boolean packs) {
    String scheduler = Objects.requireNonNullElse(pod.getSpec().getSchedulerName(), "");
    String version = String.valueOf(pod.getMetadata().getResourceVersion());
    return WatchedPod.of(draft(pod), version, scheduler, resources, packs);
  }

  private static Map<String, String> requests(Container container) {
    return container.getResources() == null
        ? Map.of()
        : texts(container.getResources().getRequests());
  }

  static Map<String, String> texts(@Nullable Map<String, Quantity> quantities) {
    var texts = new HashMap<String, String>();
    if (quantities != null) {
      quantities.forEach((resource, quantity) -> texts.put(resource, quantity.toString()));
    }
    return texts;
  }

  /** Empty if the pod asks for none of the resources. */
  public static Optional<PodFacts> read(Pod pod, List<String> resources) {
    return draft(pod).facts(resources);
  }

  /** What it requests beside GPUs. */
  public static HostRequest host(Pod pod) {
    return draft(pod).host();
  }

  private static PodDraft draft(Pod pod) {
    var meta = pod.getMetadata();
    var draft = new PodDraft().identity(meta.getNamespace(), meta.getName(), meta.getUid());
    if (meta.getAnnotations() != null) {
      meta.getAnnotations().forEach(draft::annotation);
    }
    standing(pod, draft);
    draft.node(pod.getSpec().getNodeName());
    if (pod.getStatus() != null && pod.getStatus().getPhase() != null) {
      draft.phase(pod.getStatus().getPhase());
    }
    for (Container c : pod.getSpec().getInitContainers()) {
      draft.initContainer(c.getName(), c.getRestartPolicy(), limits(c), requests(c));
    }
    for (Container c : pod.getSpec().getContainers()) {
      draft.container(c.getName(), limits(c), requests(c));
    }
    return draft.overhead(texts(pod.getSpec().getOverhead()));
  }

  private static void standing(Pod pod, PodDraft draft) {
    var meta = pod.getMetadata();
    if (meta.getLabels() != null) {
      meta.getLabels().forEach(draft::label);
    }
    if (meta.getCreationTimestamp() != null) {
      draft.createdAt(meta.getCreationTimestamp());
    }
    draft.deletedAt(meta.getDeletionTimestamp());
    if (pod.getSpec().getPriority() != null) {
      draft.priority(pod.getSpec().getPriority());
    }
    if (pod.getStatus() != null) {
      draft.nominatedNode(pod.getStatus().getNominatedNodeName());
      if (pod.getStatus().getStartTime() != null) {
        draft.startedAt(pod.getStatus().getStartTime());
      }
    }
  }

  private static Map<String, String> limits(Container container) {
    return container.getResources() == null
        ? Map.of()
        : texts(container.getResources().getLimits());
  }
}
