package dev.tranche.webhook.nodes;

import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeSpec;
import io.fabric8.kubernetes.api.model.NodeStatus;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.informers.cache.BasicItemStore;
import io.fabric8.kubernetes.client.informers.cache.Cache;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the watch keeps of the cluster's nodes: those that have a label of Tranche's or a DRA
 * driver's, or offer one of the resources. No selector can say that. Of each node only the fields
 * that we read are kept, without some 20 kB of images, conditions and managed fields.
 */
final class GpuNodeStore extends BasicItemStore<Node> {
  private static final List<String> LABELS = List.of(Names.LABEL_REPLICAS_PER_GPU, Names.SERVED_BY);

  /** The kubelet may offer replicas before the first report of their plugin labels the node. */
  private static final Duration LABEL_AFTER_MAX = Duration.ofMinutes(2);

  private final List<String> gpuResources;
  private final BooleanSupplier listed;
  private final InstantSource clock;
  private final AtomicLong changes = new AtomicLong();

  /** By node, what the extender says about the use of its GPUs. */
  private final Map<String, GrantedGpus.Written> granted = new ConcurrentHashMap<>();

  /** From when a node without a label is a foreign one, also if it offers nothing for a while. */
  private final Map<String, Instant> foreignFrom = new ConcurrentHashMap<>();

  /** Nodes that follow each other are often alike, and share what is equal. */
  private volatile Node last = new Node();

  /**
   * @param listed whether the nodes have been listed: foreign nodes of that list are known as such
   */
  GpuNodeStore(List<String> gpuResources, BooleanSupplier listed, InstantSource clock) {
    super(Cache::metaNamespaceKeyFunc);
    this.gpuResources = gpuResources;
    this.listed = listed;
    this.clock = clock;
  }

  /** Counts the changes that matter to a pod. What is granted changes often, and is not counted. */
  long changes() {
    return changes.get();
  }

  Optional<GrantedGpus.Written> granted(String node) {
    return Optional.ofNullable(granted.get(node));
  }

  /** Whether a node offers a resource for so short a time that its label may be on the way. */
  boolean awaitsLabel(Node node) {
    return clock
        .instant()
        .isBefore(foreignFrom.getOrDefault(node.getMetadata().getName(), Instant.MIN));
  }

  /** When the next node becomes a foreign one, if nothing changes. */
  Instant nextForeign() {
    return foreignFrom.values().stream()
        .filter(clock.instant()::isBefore)
        .min(Comparator.naturalOrder())
        .orElse(Instant.MAX);
  }

  @Override
  public @Nullable Node put(String key, Node full) {
    Node now = reduced(full);
    if (!hasGpus(now)) {
      return get(key) == null ? null : drop(key);
    }
    if (isLabelled(now)) {
      foreignFrom.remove(key);
    } else {
      foreignFrom.computeIfAbsent(
          key,
          added -> listed.getAsBoolean() ? clock.instant().plus(LABEL_AFTER_MAX) : Instant.MIN);
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
    foreignFrom.remove(key);
    return drop(key);
  }

  private @Nullable Node drop(String key) {
    Node before = super.remove(key);
    granted.remove(key);
    changes.incrementAndGet();
    return before;
  }

  private boolean hasGpus(Node node) {
    return isLabelled(node)
        || gpuResources.stream().anyMatch(node.getStatus().getAllocatable()::containsKey);
  }

  private static boolean isLabelled(Node node) {
    return LABELS.stream().anyMatch(node.getMetadata().getLabels()::containsKey);
  }

  private static boolean differ(Node before, Node now) {
    return !before.getMetadata().getLabels().equals(now.getMetadata().getLabels())
        || !before.getSpec().equals(now.getSpec())
        || !before.getStatus().equals(now.getStatus());
  }

  private Node reduced(Node full) {
    var metadata = new ObjectMeta();
    metadata.setName(full.getMetadata().getName());
    metadata.setUid(full.getMetadata().getUid());
    metadata.setResourceVersion(full.getMetadata().getResourceVersion());
    metadata.setLabels(shared(full.getMetadata().getLabels()));
    var spec = new NodeSpec();
    if (full.getSpec() != null) {
      spec.setTaints(full.getSpec().getTaints());
      spec.setUnschedulable(full.getSpec().getUnschedulable());
    }
    var status = new NodeStatus();
    if (full.getStatus() != null) {
      status.setCapacity(extended(full.getStatus().getCapacity()));
      status.setAllocatable(extended(full.getStatus().getAllocatable()));
    }
    var node = new Node();
    node.setMetadata(metadata);
    node.setSpec(spec.equals(last.getSpec()) ? last.getSpec() : spec);
    node.setStatus(status.equals(last.getStatus()) ? last.getStatus() : status);
    last = node;
    return node;
  }

  /** Thousands of nodes have the same keys and values, so one copy of each is enough. */
  private static Map<String, String> shared(@Nullable Map<String, String> labels) {
    var shared = new HashMap<String, String>();
    if (labels != null) {
      labels.forEach((key, value) -> shared.put(key.intern(), value.intern()));
    }
    return Map.copyOf(shared);
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
    return Map.copyOf(extended);
  }
}
