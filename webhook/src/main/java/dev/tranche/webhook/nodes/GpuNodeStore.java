package dev.tranche.webhook.nodes;

import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Names;
import dev.tranche.process.meters.Failures;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.NodeSpec;
import io.fabric8.kubernetes.api.model.NodeStatus;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.informers.cache.BasicItemStore;
import io.fabric8.kubernetes.client.informers.cache.Cache;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the watch keeps of the cluster's nodes: those that have a label of Tranche's or a DRA
 * driver's, or offer one of the resources. No selector can say that. The informer itself needs only
 * their names, without some 20 kB of images, conditions and managed fields.
 */
final class GpuNodeStore extends BasicItemStore<Node> {
  private static final List<String> LABELS = List.of(Names.LABEL_REPLICAS_PER_GPU, Names.SERVED_BY);

  /** The kubelet may offer replicas before the first report of their plugin labels the node. */
  private static final Duration LABEL_AFTER_MAX = Duration.ofMinutes(2);

  private static final Instant KNOWN = Instant.EPOCH;

  private final List<String> gpuResources;
  private final Failures failures;
  private final BooleanSupplier listed;
  private final InstantSource clock;
  private final Map<String, Kept> kept = new ConcurrentHashMap<>();

  /** From when a node without a label is a foreign one, also if it offers nothing for a while. */
  private final Map<String, Instant> foreignFrom = new ConcurrentHashMap<>();

  /**
   * @param resources names of the extended resources that the node has some of
   * @param granted what the extender says about the use of its GPUs
   */
  private record Kept(GpuNode node, Set<String> resources, Optional<GrantedGpus.Written> granted) {}

  /**
   * @param gpuResources the resources whose capacity counts replicas
   * @param listed whether the nodes have been listed: foreign nodes of that list are known as such
   */
  GpuNodeStore(
      List<String> gpuResources, Failures failures, BooleanSupplier listed, InstantSource clock) {
    super(Cache::metaNamespaceKeyFunc);
    this.gpuResources = gpuResources;
    this.failures = failures;
    this.listed = listed;
    this.clock = clock;
  }

  /** Returns the nodes, but those that may be about to get Tranche's label. */
  Stream<GpuNode> nodes() {
    Instant now = clock.instant();
    return kept.values().stream().map(Kept::node).filter(node -> !awaitsLabel(node.name(), now));
  }

  /** A clock that was set back ends the wait. */
  private boolean awaitsLabel(String node, Instant now) {
    Instant until = foreignFrom.getOrDefault(node, KNOWN);
    return now.isBefore(until) && !now.isBefore(until.minus(LABEL_AFTER_MAX));
  }

  Optional<GrantedGpus.Written> granted(String node) {
    return Optional.ofNullable(kept.get(node)).flatMap(Kept::granted);
  }

  /** Names of the resources that a GPU node has some of; none where there is no such node. */
  Set<String> resources(String node) {
    Kept known = kept.get(node);
    return known == null ? Set.of() : known.resources();
  }

  /** Leaves out a node that cannot be read: no pod is sized for it, and all others count. */
  @Override
  public @Nullable Node put(String key, Node node) {
    Optional<Kept> now = Optional.empty();
    try {
      now = read(node);
    } catch (RuntimeException bug) {
      failures.nodeFailed(key, bug);
    }
    if (now.isEmpty()) {
      return drop(key);
    }
    boolean labelled = isLabelled(now.get().node().labels());
    if (!labelled) {
      Kept before = kept.get(key);
      boolean left = before != null && isLabelled(before.node().labels());
      foreignFrom.computeIfAbsent(
          key,
          first -> left || !listed.getAsBoolean() ? KNOWN : clock.instant().plus(LABEL_AFTER_MAX));
    }
    kept.put(key, now.get());
    if (labelled) {
      foreignFrom.remove(key);
    }
    return super.put(key, new NodeBuilder().withNewMetadata().withName(key).endMetadata().build());
  }

  @Override
  public @Nullable Node remove(String key) {
    Node before = drop(key);
    foreignFrom.remove(key);
    return before;
  }

  private @Nullable Node drop(String key) {
    kept.remove(key);
    return super.remove(key);
  }

  /** A foreign node counts by what its pods can have. Of ours, unhealthy GPUs are still there. */
  private Optional<Kept> read(Node node) {
    Map<String, String> labels = node.getMetadata().getLabels();
    NodeStatus status = Objects.requireNonNullElseGet(node.getStatus(), NodeStatus::new);
    Map<String, Long> capacity = extended(status.getCapacity());
    Map<String, Long> allocatable = extended(status.getAllocatable());
    if (!isLabelled(labels) && gpuResources.stream().noneMatch(allocatable::containsKey)) {
      return Optional.empty();
    }
    Map<String, Long> counts = GpuNode.isTranches(labels) ? capacity : allocatable;
    Set<String> resources = Set.copyOf(capacity.keySet());
    counts.keySet().retainAll(gpuResources);
    NodeSpec spec = Objects.requireNonNullElseGet(node.getSpec(), NodeSpec::new);
    return Optional.of(
        new Kept(
            new GpuNode(node.getMetadata().getName(), shared(labels), counts, Taints.of(spec)),
            resources,
            Optional.ofNullable(node.getMetadata().getAnnotations().get(Names.GPU_USE))
                .flatMap(GrantedGpus::read)));
  }

  private static boolean isLabelled(Map<String, String> labels) {
    return LABELS.stream().anyMatch(labels::containsKey);
  }

  /** Thousands of nodes have the same keys and values, so one copy of each is enough. */
  private static Map<String, String> shared(Map<String, String> labels) {
    var shared = new HashMap<String, String>();
    labels.forEach((key, value) -> shared.put(key.intern(), value.intern()));
    return shared;
  }

  /** Returns the extended resources, which have a domain in their names, without those of none. */
  private static Map<String, Long> extended(Map<String, Quantity> resources) {
    var extended = new HashMap<String, Long>();
    resources.forEach(
        (name, quantity) -> {
          if (name.indexOf('/') >= 0 && quantity.getNumericalAmount().signum() > 0) {
            extended.put(name.intern(), quantity.getNumericalAmount().longValue());
          }
        });
    return extended;
  }
}
