package dev.tranche.webhook.request;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Warning;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The container that gets a share if the annotation names none. The choice is written to the pod as
 * {@code tranche.dev/gpu-container}: a webhook after ours may add containers, and the extender
 * reads the pod too.
 *
 * @param warning why this container was chosen, if the owner may have meant another
 */
public record GpuContainer(Container container, Optional<String> warning) {
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

  /**
   * Chooses a container; empty if the pod has no app container. A container that requests the
   * resource states that it is the one, also as a native sidecar. A LimitRange's number states
   * nothing.
   */
  static Optional<GpuContainer> choose(PodView pod, String resource) {
    List<Container> apps =
        pod.containers().stream().filter(c -> c.kind() == Demand.Kind.APP).toList();
    List<Container> ofLimitRange = pod.withNumberOfLimitRange(resource);
    List<Container> requesting =
        pod.containers().stream()
            .filter(c -> c.kind() != Demand.Kind.INIT && c.requested(resource) > 0)
            .filter(c -> !hasOwnShare(pod, c) && !ofLimitRange.contains(c))
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
    return byDefault
        .or(() -> possible.stream().findFirst())
        .map(
            c ->
                new GpuContainer(
                    c,
                    possible.size() > 1
                        ? Optional.of(chosenOfSeveral(c, possible.size(), byDefault.isPresent()))
                        : requesting.isEmpty() ? skipped(c, apps) : Optional.empty()));
  }

  private static boolean hasOwnShare(PodView pod, Container container) {
    return pod.annotations().containsKey(Names.GPU_FRACTION_OF + container.name())
        || pod.annotations().containsKey(Names.GPU_MEMORY_OF + container.name());
  }

  /** A privileged container can have no share: it has all GPUs. */
  private static boolean mayHaveShare(Container container) {
    return !INJECTED.contains(container.name()) && !container.privileged();
  }

  private static String chosenOfSeveral(Container chosen, int possible, boolean byDefault) {
    return byDefault
        ? Warning.DEFAULT_CONTAINER_CHOSEN.of(chosen.name(), DEFAULT_CONTAINER, Names.GPU_CONTAINER)
        : Warning.CONTAINER_CHOSEN.of(chosen.name(), possible, Names.GPU_CONTAINER);
  }

  private static Optional<String> skipped(Container chosen, List<Container> apps) {
    Container first = apps.getFirst();
    return first.equals(chosen)
        ? Optional.empty()
        : Optional.of(
            Warning.CONTAINER_SKIPPED.of(
                chosen.name(),
                first.name(),
                first.privileged()
                    ? "is privileged and can have no share"
                    : "is added by a webhook and uses no GPU",
                Names.GPU_CONTAINER));
  }
}
