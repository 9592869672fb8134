package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HealthChange;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.limit.ContainerLimit;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.usage.ContainerName;
import dev.tranche.nodeplugin.usage.ContainerUse;
import dev.tranche.nodeplugin.usage.Grants;
import dev.tranche.nodeplugin.usage.Overuse;
import dev.tranche.nodeplugin.usage.PodName;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Reports the changes in each sample: to people as events, to Prometheus as series. Confined to the
 * event loop.
 */
final class SampleEvents {
  /** Between events of one GPU that has one fault after the other. */
  static final long FAULT_REPEAT_MS = 60_000;

  private final EventBuffer events;
  private final NodeMetrics metrics;
  private final Overuse overuse;
  private final LongSupplier clockMs;
  // By uuid: the last event of the GPU's health.
  private final Map<String, Long> writtenMs = new HashMap<>();
  // GPUs that were read at least once.
  private final Set<String> readBefore = new HashSet<>();
  private Grants grants = new Grants(Map.of());

  /**
   * @param clockMs any monotonic clock
   */
  SampleEvents(EventBuffer events, NodeMetrics metrics, Overuse overuse, LongSupplier clockMs) {
    this.events = events;
    this.metrics = metrics;
    this.overuse = overuse;
    this.clockMs = clockMs;
  }

  /**
   * Reports what has changed in the GPUs, which are those of the state.
   *
   * @param before the GPUs of the sample before
   * @return whether a cordon has begun or ended, which must be reported at once
   */
  boolean sampled(PluginState state, List<GpuStatus> before) {
    HealthChange.between(before, state.gpus()).forEach(this::reportHealth);
    state.gpus().forEach(this::reportEarlierErrors);
    grants = Grants.of(state.holdingsByReplicas());
    Map<String, GpuSharing> sharing = state.replicas().map(NodeReplicas::sharing).orElse(Map.of());
    List<NodeMetrics.ContainerRow> rows = new ArrayList<>();
    boolean changed = false;
    for (GpuStatus gpu : state.gpus()) {
      GpuSharing how = sharing.get(gpu.info().uuid());
      // A lost GPU has no reading; what was known of it stays.
      if (how != null && gpu.load() != null) {
        changed |= state.holdingsKnown() && judgeOveruse(gpu, how);
        rows.addAll(rows(gpu, state.containerLimits()));
      }
    }
    metrics.containers(rows);
    return changed;
  }

  // Errors from before the start are no fault: what they hit has ended, or it would not run.
  private void reportEarlierErrors(GpuStatus gpu) {
    if (gpu.load() == null || !readBefore.add(gpu.info().uuid())) {
      return;
    }
    long errors = gpu.load().now().eccUncorrected();
    if (errors > 0) {
      events.node(
          "GpuMemoryErrors",
          "GPU %d (%s, %s) had %d uncorrectable memory errors between the driver's start and the plugin's; it takes pods, and new errors make it unhealthy: see nvidia-smi -q -d ECC,ROW_REMAPPER"
              .formatted(gpu.info().index(), gpu.info().uuid(), gpu.info().model(), errors),
          true);
    }
  }

  private void reportHealth(HealthChange change) {
    metrics.count(
        "tranche.node.gpu.health.changes",
        "Changes of a GPU's health.",
        "to",
        change.now().metricLabel());
    // An ECC storm is a fault with another count each second, and would leave no other event.
    long nowMs = clockMs.getAsLong();
    Long writtenAtMs = writtenMs.get(change.gpu().uuid());
    if (!change.moreOfAFault() || writtenAtMs == null || nowMs - writtenAtMs >= FAULT_REPEAT_MS) {
      writtenMs.put(change.gpu().uuid(), nowMs);
      events.node(change.reason(), change.message(), !change.now().healthy());
    }
  }

  private boolean judgeOveruse(GpuStatus gpu, GpuSharing how) {
    // A share of unknown memory is unknown, too.
    if (gpu.info().usableBytes() == 0) {
      return false;
    }
    List<Overuse.EpisodeChange> changes =
        overuse.judge(
            gpu.info().uuid(), gpu.info().usableBytes(), how.replicas(), gpu.uses(), grants);
    changes.forEach(change -> report(gpu.info(), change));
    return !changes.isEmpty();
  }

  /**
   * Returns the containers that use the GPU. Without the host's PID namespace no process can be
   * attributed; then those with a memory limit are known by what the driver counts against it.
   */
  private List<NodeMetrics.ContainerRow> rows(GpuStatus gpu, List<ContainerLimit> limits) {
    Map<ContainerName, Long> charged = new HashMap<>();
    Map<ContainerName, ContainerUse> uses = new LinkedHashMap<>();
    for (ContainerLimit limit : limits) {
      if (limit.uuid().equals(gpu.info().uuid()) && limit.usedBytes() >= 0) {
        ContainerName who = limit.container();
        charged.put(who, limit.usedBytes());
        uses.put(who, new ContainerUse(who, limit.usedBytes(), Double.NaN));
      }
    }
    gpu.uses().forEach(use -> uses.put(use.container(), use));
    return uses.values().stream()
        .map(use -> row(gpu.info(), use, charged.getOrDefault(use.container(), -1L)))
        .toList();
  }

  private NodeMetrics.ContainerRow row(GpuInfo gpu, ContainerUse use, long chargedBytes) {
    long granted = (long) (gpu.usableBytes() * grants.share(gpu.uuid(), use.container()));
    boolean overuses = overuse.hasOpenEpisode(gpu.uuid(), use.container());
    return new NodeMetrics.ContainerRow(gpu, use, granted, chargedBytes, overuses);
  }

  private void report(GpuInfo gpu, Overuse.EpisodeChange change) {
    ContainerName who = change.use().container();
    String on = " of GPU %d (%s)".formatted(gpu.index(), gpu.uuid());
    if (!change.began()) {
      String within = "container " + who.name() + " is within its share" + on + " again";
      events.pod(who.pod(), "GpuOveruseEnded", within, false);
      return;
    }
    metrics.count("tranche.node.overuse", "Times that a container used more than granted.");
    events.pod(who.pod(), "GpuOveruse", change.sentence() + on, true);
    for (PodName neighbour : change.neighbours()) {
      events.pod(
          neighbour,
          "GpuNeighbourOveruse",
          "another pod on this pod's GPU uses more than its share: "
              + change.sentenceFor(neighbour.namespace())
              + on,
          true);
    }
  }
}
