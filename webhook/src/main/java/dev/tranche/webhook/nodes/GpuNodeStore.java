package dev.tranche.webhook.nodes;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.client.informers.cache.BasicItemStore;
import io.fabric8.kubernetes.client.informers.cache.Cache;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What the watch keeps of the cluster's nodes: those that have a label of Tranche's, NVIDIA's or a
 * DRA driver's, or offer one of the resources. No selector can say that.
 */
final class GpuNodeStore extends BasicItemStore<SlimNode> {
  private static final List<String> LABELS =
      List.of(DecidingLabel.REPLICAS.ours(), DecidingLabel.REPLICAS.nvidias(), Names.SERVED_BY);

  private final List<String> gpuResources;
  private final AtomicLong changes = new AtomicLong();

  GpuNodeStore(List<String> gpuResources) {
    super(Cache::metaNamespaceKeyFunc);
    this.gpuResources = gpuResources;
  }

  /** Counts the changes that matter to a pod. */
  long changes() {
    return changes.get();
  }

  @Override
  public @Nullable SlimNode put(String key, SlimNode now) {
    boolean kept = hasGpus(now);
    SlimNode before = kept ? super.put(key, now) : super.remove(key);
    if (kept ? before == null || differ(before, now) : before != null) {
      changes.incrementAndGet();
    }
    return before;
  }

  @Override
  public @Nullable SlimNode remove(String key) {
    SlimNode before = super.remove(key);
    changes.incrementAndGet();
    return before;
  }

  private boolean hasGpus(SlimNode node) {
    Map<String, String> labels = node.getMetadata().getLabels();
    return LABELS.stream().anyMatch(labels::containsKey)
        || gpuResources.stream()
            .anyMatch(r -> !node.getStatus().allocatable().getOrDefault(r, "0").equals("0"));
  }

  /** The annotation with the granted GPUs changes often, and is read where it decides. */
  private static boolean differ(SlimNode before, SlimNode now) {
    return !before.getMetadata().getLabels().equals(now.getMetadata().getLabels())
        || !before.getSpec().equals(now.getSpec())
        || !before.getStatus().equals(now.getStatus());
  }
}
