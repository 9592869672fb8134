package dev.tranche.webhook.request;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Warning;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Chooses the container that gets a share if the annotation names none. The choice is written to
 * the pod as {@code tranche.dev/gpu-container}: a webhook after ours may add containers, and the
 * extender reads the pod too.
 */
final class GpuContainer {
  /**
   * Names the container that kubectl logs and kubectl exec use by default. Istio and Linkerd write
   * this annotation when they inject: it then names the first container, not the owner's choice.
   */
  static final String DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

  /**
   * Containers that other webhooks inject, some of them as the first. None of them uses a GPU. The
   * names are those of the injectors' own templates.
   */
  private static final Set<String> INJECTED =
      Set.of(
          "istio-proxy",
          "linkerd-proxy",
          // The proxy of AWS App Mesh and of Open Service Mesh.
          "envoy",
          // Consul since 1.14, and Consul before 1.14.
          "consul-dataplane",
          "envoy-sidecar",
          "kuma-sidecar",
          "daprd",
          "vault-agent",
          // Cloud Storage FUSE, Fluid and JuiceFS.
          "gke-gcsfuse-sidecar",
          "fluid-fuse-0",
          "jfs-mount",
          "queue-proxy",
          "otc-container");

  private GpuContainer() {}

  /**
   * Chooses a container; empty if the pod has no app container. A container that requests the
   * resource states that it is the one, also as a native sidecar. A LimitRange's number states
   * nothing. Warns if the owner may have meant another.
   */
  static Optional<Container> choose(PodView pod, String resource, Messages messages) {
    List<Container> apps =
        pod.containers().stream().filter(c -> c.kind() == Demand.Kind.APP).toList();
    List<Container> ofLimitRange = pod.withNumberOfLimitRange(resource);
    List<Container> requesting =
        pod.containers().stream()
            .filter(c -> c.kind() != Demand.Kind.INIT && c.requested(resource) > 0)
            .filter(c -> !Demand.hasOwnShare(c.name(), pod.annotations()))
            .filter(c -> !ofLimitRange.contains(c))
            .toList();
    // A pod of proxies alone is a gateway, whose proxy is the application.
    List<Container> possible =
        Stream.of(requesting, apps.stream().filter(GpuContainer::mayHaveShare).toList(), apps)
            .filter(containers -> !containers.isEmpty())
            .findFirst()
            .orElse(apps);
    String named = pod.annotations().getOrDefault(DEFAULT_CONTAINER, "");
    Optional<Container> byDefault =
        possible.stream().filter(c -> c.name().equals(named)).findFirst();
    Optional<Container> chosen = byDefault.or(() -> possible.stream().findFirst());
    String name = chosen.map(Container::name).orElse("");
    if (possible.size() > 1 && byDefault.isPresent()) {
      messages.warn(Warning.DEFAULT_CONTAINER_CHOSEN, name, DEFAULT_CONTAINER, Names.GPU_CONTAINER);
    } else if (possible.size() > 1) {
      messages.warn(Warning.CONTAINER_CHOSEN, name, possible.size(), Names.GPU_CONTAINER);
    } else if (requesting.isEmpty() && chosen.isPresent()) {
      warnOfSkipped(chosen.get(), apps.getFirst(), messages);
    }
    return chosen;
  }

  /** A privileged container can have no share: it has all GPUs. */
  private static boolean mayHaveShare(Container container) {
    return !INJECTED.contains(container.name()) && !container.privileged();
  }

  private static void warnOfSkipped(Container chosen, Container first, Messages messages) {
    if (!first.equals(chosen)) {
      String why =
          first.privileged()
              ? "is privileged and can have no share"
              : "is added by a webhook and uses no GPU";
      messages.warn(
          Warning.CONTAINER_SKIPPED, chosen.name(), first.name(), why, Names.GPU_CONTAINER);
    }
  }
}
