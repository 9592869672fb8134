package dev.tranche.webhook.nodes;

import dev.tranche.api.GrantedGpus;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.meters.Failures;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.api.model.node.v1.RuntimeClass;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Watches the nodes with GPUs and our RuntimeClass. */
public final class ClusterWatch implements AutoCloseable {
  /** Nodes in one page of a list, so that few lie in memory with all their fields. */
  private static final long PAGE_NODES = 50;

  private final GpuNodeStore store;
  private final SharedIndexInformer<Node> nodes;
  private final @Nullable SharedIndexInformer<RuntimeClass> runtimeClass;
  private final InstantSource clock;

  /**
   * @param served by Tranche
   * @param foreign that offer GPUs without it
   */
  public record Nodes(List<GpuNode> served, List<GpuNode> foreign) {}

  /**
   * @param client a client that uses {@link #serialization}
   * @param runtimeClassName the RuntimeClass to watch; empty for none
   * @param gpuResources the resources whose capacity counts replicas
   */
  public ClusterWatch(
      KubernetesClient client,
      String runtimeClassName,
      List<String> gpuResources,
      Failures failures,
      InstantSource clock) {
    this.clock = clock;
    store = new GpuNodeStore(gpuResources, failures, this::nodesListed, clock);
    KubernetesClient calls = ApiClient.forInformers(client);
    nodes =
        calls
            .nodes()
            .withLimit(PAGE_NODES)
            .runnableInformer(0)
            .itemStore(store)
            .exceptionHandler((started, failure) -> true);
    runtimeClass =
        runtimeClassName.isEmpty()
            ? null
            : calls
                .resources(RuntimeClass.class)
                .withName(runtimeClassName)
                .runnableInformer(0)
                .exceptionHandler((started, failure) -> true);
  }

  /** Registers the kinds that the webhook reads. */
  public static KubernetesSerialization serialization() {
    return ApiClient.serialization(
        List.of(
            Node.class,
            RuntimeClass.class,
            Secret.class,
            ConfigMap.class,
            Event.class,
            MutatingWebhookConfiguration.class,
            Status.class));
  }

  public void start() {
    informers().forEach(ApiClient::start);
  }

  /** What has not been listed yet, a sentence. */
  public Optional<String> missing() {
    if (!nodesListed()) {
      return Optional.of("the nodes have not been listed yet");
    }
    return runtimeClass != null && !runtimeClass.hasSynced()
        ? Optional.of("the runtime classes have not been listed yet")
        : Optional.empty();
  }

  private boolean nodesListed() {
    return nodes.hasSynced();
  }

  public Nodes nodes() {
    Map<Boolean, List<GpuNode>> byForeign =
        store.nodes().collect(Collectors.partitioningBy(GpuNode::isForeign));
    return new Nodes(
        byForeign.getOrDefault(false, List.of()), byForeign.getOrDefault(true, List.of()));
  }

  /**
   * Returns how much of a node's GPUs is granted; empty if no extender says so. It changes often,
   * so that it is read only where it decides.
   */
  public Optional<GrantedGpus> granted(GpuNode node) {
    return store.granted(node.name()).map(written -> written.now(clock.instant()));
  }

  /** Names of the resources that a GPU node has some of; none where there is no such node. */
  public Set<String> resources(String nodeName) {
    return store.resources(nodeName);
  }

  public boolean runtimeClassExists() {
    return runtimeClass != null && !runtimeClass.getStore().list().isEmpty();
  }

  private Stream<SharedIndexInformer<? extends HasMetadata>> informers() {
    return Stream.concat(Stream.of(nodes), Stream.ofNullable(runtimeClass));
  }

  @Override
  public void close() {
    informers().forEach(SharedIndexInformer::stop);
  }
}
