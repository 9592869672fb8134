package dev.tranche.webhook.nodes;

import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Names;
import dev.tranche.process.client.ApiClient;
import dev.tranche.webhook.metrics.NodeFailures;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.api.model.node.v1.RuntimeClass;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.FilterWatchListDeletable;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Watches the labelled GPU nodes and our RuntimeClass. */
public final class ClusterWatch implements AutoCloseable {
  /** Nodes in one page of a list, so that thousands never lie in memory unparsed. */
  private static final long PAGE_NODES = 200;

  /**
   * One for nodes with NVIDIA's label, one for other nodes with ours, and one for the rest of those
   * that a DRA driver serves; a selector cannot say "or".
   */
  private final List<SharedIndexInformer<SlimNode>> nodes;

  private final @Nullable SharedIndexInformer<RuntimeClass> runtimeClass;
  private final List<String> gpuResources;
  private final NodeFailures failures;
  private final AtomicLong changes = new AtomicLong();
  private volatile Snapshot snapshot = new Snapshot(-1, List.of());

  /**
   * @param changes how many changes there had been when it was taken; a later change makes it stale
   */
  private record Snapshot(long changes, List<GpuNode> nodes) {}

  /**
   * @param client a client that uses {@link #serialization}
   * @param runtimeClassName the RuntimeClass to watch; empty for none
   * @param gpuResources the resources whose capacity counts replicas
   */
  public ClusterWatch(
      KubernetesClient client,
      String runtimeClassName,
      List<String> gpuResources,
      NodeFailures failures) {
    this.gpuResources = List.copyOf(gpuResources);
    this.failures = failures;
    String ours = DecidingLabel.REPLICAS.ours();
    String nvidias = DecidingLabel.REPLICAS.nvidias();
    nodes =
        List.of(
            informer(client.resources(SlimNode.class).withLabel(nvidias)),
            informer(client.resources(SlimNode.class).withLabel(ours).withoutLabel(nvidias)),
            informer(
                client
                    .resources(SlimNode.class)
                    .withLabel(Names.SERVED_BY, Names.DRA)
                    .withoutLabel(ours)
                    .withoutLabel(nvidias)));
    runtimeClass =
        runtimeClassName.isEmpty()
            ? null
            : client
                .resources(RuntimeClass.class)
                .withName(runtimeClassName)
                .runnableInformer(0)
                .exceptionHandler((started, failure) -> true);
  }

  private SharedIndexInformer<SlimNode> informer(
      FilterWatchListDeletable<SlimNode, KubernetesResourceList<SlimNode>, Resource<SlimNode>>
          selected) {
    return selected
        .withLimit(PAGE_NODES)
        .runnableInformer(0)
        .exceptionHandler((started, failure) -> true)
        .addEventHandler(new CountChanges());
  }

  /** Registers the kinds that the webhook reads, with nodes as {@link SlimNode}. */
  public static KubernetesSerialization serialization() {
    var serialization =
        ApiClient.serialization(
            List.of(
                RuntimeClass.class,
                Secret.class,
                ConfigMap.class,
                Event.class,
                MutatingWebhookConfiguration.class,
                Status.class));
    serialization.registerKubernetesResource("v1", "Node", SlimNode.class);
    return serialization;
  }

  public void start() {
    informers().forEach(SharedIndexInformer::start);
  }

  /** What has not been listed yet, a sentence. */
  public Optional<String> missing() {
    if (!nodes.stream().allMatch(SharedIndexInformer::hasSynced)) {
      return Optional.of("the nodes have not been listed yet");
    }
    return runtimeClass != null && !runtimeClass.hasSynced()
        ? Optional.of("the runtime classes have not been listed yet")
        : Optional.empty();
  }

  public List<GpuNode> nodes() {
    long current = changes.get();
    Snapshot known = snapshot;
    if (known.changes() != current) {
      known = new Snapshot(current, gpuNodes(watched().toList(), gpuResources, failures));
      snapshot = known;
    }
    return known.nodes();
  }

  /**
   * Returns how much of a node's GPUs is granted; empty if no extender says so. It changes often,
   * so that it is read only where it decides.
   */
  public Optional<GrantedGpus> granted(GpuNode node) {
    return nodes.stream()
        .map(informer -> informer.getIndexer().getByKey(node.name()))
        .filter(Objects::nonNull)
        .findFirst()
        .map(watched -> watched.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(Names.GPU_USE))
        .flatMap(GrantedGpus::read);
  }

  /** Names of the resources that a labelled node has some of; none where there is no such node. */
  public Set<String> resources(String nodeName) {
    return watched()
        .filter(node -> nodeName.equals(node.getMetadata().getName()))
        .flatMap(node -> node.getStatus().capacity().entrySet().stream())
        .filter(resource -> !resource.getValue().equals("0"))
        .map(Map.Entry::getKey)
        .collect(Collectors.toUnmodifiableSet());
  }

  public boolean runtimeClassExists() {
    return runtimeClass != null && !runtimeClass.getStore().list().isEmpty();
  }

  private Stream<SharedIndexInformer<? extends HasMetadata>> informers() {
    return Stream.concat(nodes.stream(), Stream.ofNullable(runtimeClass));
  }

  /** A node whose labels change may be in two lists for a moment. */
  private Stream<SlimNode> watched() {
    List<SlimNode> first = nodes.getFirst().getStore().list();
    List<SlimNode> others =
        nodes.stream().skip(1).flatMap(informer -> informer.getStore().list().stream()).toList();
    if (others.isEmpty()) {
      return first.stream();
    }
    var names = new HashSet<String>();
    first.forEach(node -> names.add(node.getMetadata().getName()));
    return Stream.concat(
        first.stream(), others.stream().filter(node -> names.add(node.getMetadata().getName())));
  }

  /** Leaves out a node that cannot be read: no pod is sized for it, and all others count. */
  static List<GpuNode> gpuNodes(
      List<SlimNode> nodes, List<String> gpuResources, NodeFailures failures) {
    var found = new ArrayList<GpuNode>(nodes.size());
    for (SlimNode node : nodes) {
      failures.onNode(node.getMetadata().getName(), () -> found.add(gpuNode(node, gpuResources)));
    }
    return List.copyOf(found);
  }

  private static GpuNode gpuNode(SlimNode node, List<String> gpuResources) {
    Map<String, String> labels = node.getMetadata().getLabels();
    Map<String, Long> capacity =
        node.getStatus().capacity().entrySet().stream()
            .filter(e -> gpuResources.contains(e.getKey()))
            .filter(e -> e.getValue().matches("\\d{1,9}"))
            .collect(Collectors.toMap(Map.Entry::getKey, e -> Long.parseLong(e.getValue())));
    return new GpuNode(
        node.getMetadata().getName(),
        labels == null ? Map.of() : labels,
        capacity,
        Taints.of(node.getSpec()));
  }

  @Override
  public void close() {
    informers().forEach(SharedIndexInformer::stop);
  }

  private final class CountChanges implements ResourceEventHandler<SlimNode> {
    @Override
    public void onAdd(SlimNode added) {
      changes.incrementAndGet();
    }

    @Override
    public void onUpdate(SlimNode before, SlimNode now) {
      if (!before.getMetadata().getLabels().equals(now.getMetadata().getLabels())
          || !before.getSpec().equals(now.getSpec())
          || !before.getStatus().equals(now.getStatus())) {
        changes.incrementAndGet();
      }
    }

    @Override
    public void onDelete(SlimNode deleted, boolean finalStateUnknown) {
      changes.incrementAndGet();
    }
  }
}
