package dev.tranche.webhook.nodes;

import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.NodeSpec;
import io.fabric8.kubernetes.api.model.NodeStatus;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.informers.cache.BasicItemStore;
import io.fabric8.kubernetes.client.informers.cache.Cache;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What the watch keeps of the cluster's nodes: those that have a label of Tranche's or a DRA
 * driver's, or offer one of the resources. No selector can say that. Of each node only the fields
 * that we read are kept, without some 20 kB of images, conditions and managed fields.
 */
final class GpuNodeStore extends BasicItemStore<Node> {
  private static final List<String> LABELS = List.of(Names.LABEL_REPLICAS_PER_GPU, Names.SERVED_BY);

  private final List<String> gpuResources;
  private final AtomicLong changes = new AtomicLong();

  /** By node, what the extender says about the use of its GPUs. */
  private final Map<String, GrantedGpus.Written> granted = new ConcurrentHashMap<>();

  GpuNodeStore(List<String> gpuResources) {
    super(Cache::metaNamespaceKeyFunc);
    this.gpuResources = gpuResources;
  }

  /** Counts the changes that matter to a pod. What is granted changes often, and is not counted. */
  long changes() {
    return changes.get();
  }

  Optional<GrantedGpus.Written> granted(String node) {
    return Optional.ofNullable(granted.get(node));
  }

  @Override
  public @Nullable Node put(String key, Node full) {
    Node now = reduced(full);
    if (!hasGpus(now)) {
      return get(key) == null ? null : remove(key);
    }
    Optional.ofNullable(full.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(Names.GPU_USE))
        .flatMap(GrantedGpus::read)
        .ifPresentOrElse(written -> granted.put(key, written), () -> granted.remove(key));
    Node before = super.put(key, now);
    if (before == null || differ(before, now)) {
      changes.incrementAndGet();
    }
    return before;
  }

  @Override
  public @Nullable Node remove(String key) {
    Node before = super.remove(key);
    granted.remove(key);
    changes.incrementAndGet();
    return before;
  }

  private boolean hasGpus(Node node) {
    return LABELS.stream().anyMatch(node.getMetadata().getLabels()::containsKey)
        || gpuResources.stream().anyMatch(node.getStatus().getAllocatable()::containsKey);
  }

  private static boolean differ(Node before, Node now) {
    return !before.getMetadata().getLabels().equals(now.getMetadata().getLabels())
        || !before.getSpec().equals(now.getSpec())
        || !before.getStatus().equals(now.getStatus());
  }

  private static Node reduced(Node full) {
    ObjectMeta metadata = full.getMetadata();
    NodeSpec spec = Objects.requireNonNullElseGet(full.getSpec(), NodeSpec::new);
    NodeStatus status = Objects.requireNonNullElseGet(full.getStatus(), NodeStatus::new);
    return new NodeBuilder()
        .withNewMetadata()
        .withName(metadata.getName())
        .withUid(metadata.getUid())
        .withResourceVersion(metadata.getResourceVersion())
        .withLabels(shared(metadata.getLabels()))
        .endMetadata()
        .withNewSpec()
        .withTaints(spec.getTaints())
        .withUnschedulable(spec.getUnschedulable())
        .endSpec()
        .withNewStatus()
        .withCapacity(extended(status.getCapacity()))
        .withAllocatable(extended(status.getAllocatable()))
        .endStatus()
        .build();
  }

  /** Thousands of nodes have the same keys and values, so one copy of each is enough. */
  private static Map<String, String> shared(@Nullable Map<String, String> labels) {
    var shared = new HashMap<String, String>();
    if (labels != null) {
      labels.forEach((key, value) -> shared.put(key.intern(), value.intern()));
    }
    return shared;
  }

  /** Returns the extended resources, which have a domain in their names, without those of none. */
  private static Map<String, Quantity> extended(@Nullable Map<String, Quantity> resources) {
    var extended = new HashMap<String, Quantity>();
    if (resources != null) {
      resources.forEach(
          (name, quantity) -> {
            if (name.indexOf('/') >= 0 && quantity.getNumericalAmount().signum() > 0) {
              extended.put(name, quantity);
            }
          });
    }
    return extended;
  }
}
