package dev.tranche.webhook.request;

import dev.tranche.api.Names;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Warning;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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
   * this annotation when they inject.
   */
  static final String DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

  /**
   * Containers that other webhooks inject, some of them as the first. None of them uses a GPU. The
   * names are those of the injectors' own templates.
   */
  private static final Map<String, String> INJECTED =
      Map.ofEntries(
          // First with holdApplicationUntilProxyStarts.
          Map.entry("istio-proxy", "Istio"),
          // First with config.linkerd.io/proxy-await, the default.
          Map.entry("linkerd-proxy", "Linkerd"),
          // The proxy of AWS App Mesh and of Open Service Mesh.
          Map.entry("envoy", "a service mesh"),
          // Consul since 1.14, and Consul before 1.14.
          Map.entry("consul-dataplane", "Consul"),
          Map.entry("envoy-sidecar", "Consul"),
          Map.entry("kuma-sidecar", "Kuma"),
          Map.entry("daprd", "Dapr"),
          Map.entry("vault-agent", "Vault"),
          // First, since it mounts the application's volumes.
          Map.entry("gke-gcsfuse-sidecar", "Cloud Storage FUSE"),
          Map.entry("queue-proxy", "Knative"),
          Map.entry("otc-container", "OpenTelemetry"));

  /** Chooses a container; empty if the pod has no app container. */
  static Optional<GpuContainer> choose(PodView pod, String resource) {
    List<Container> apps =
        pod.containers().stream().filter(c -> c.list().equals("containers")).toList();
    List<Container> notInjected =
        apps.stream().filter(c -> !INJECTED.containsKey(c.name())).toList();
    Optional<Container> known = granted(pod, apps, resource).or(() -> byKubectl(pod, notInjected));
    if (known.isPresent()) {
      return known.map(c -> new GpuContainer(c, Optional.empty()));
    }
    // A pod of proxies alone is a gateway, whose proxy is the application.
    return (notInjected.isEmpty() ? apps : notInjected)
        .stream().findFirst().map(c -> new GpuContainer(c, warning(c, apps, notInjected)));
  }

  /**
   * Returns the one container that has replicas, if a Tranche that did not write {@code
   * gpu-container} has admitted the pod before.
   */
  private static Optional<Container> granted(PodView pod, List<Container> apps, String resource) {
    if (!pod.annotations().containsKey(Names.REPLICAS_PER_GPU)) {
      return Optional.empty();
    }
    List<Container> requesting = apps.stream().filter(c -> c.requested(resource) > 0).toList();
    return requesting.size() == 1 ? requesting.stream().findFirst() : Optional.empty();
  }

  private static Optional<Container> byKubectl(PodView pod, List<Container> notInjected) {
    String named = pod.annotations().get(DEFAULT_CONTAINER);
    return notInjected.stream().filter(c -> c.name().equals(named)).findFirst();
  }

  private static Optional<String> warning(
      Container chosen, List<Container> apps, List<Container> notInjected) {
    if (notInjected.size() > 1) {
      return Optional.of(
          Warning.CONTAINER_CHOSEN.of(chosen.name(), notInjected.size(), Names.GPU_CONTAINER));
    }
    return apps.getFirst().equals(chosen)
        ? Optional.empty()
        : Optional.of(
            Warning.PROXY_SKIPPED.of(
                chosen.name(),
                apps.getFirst().name(),
                INJECTED.getOrDefault(apps.getFirst().name(), ""),
                Names.GPU_CONTAINER));
  }
}
