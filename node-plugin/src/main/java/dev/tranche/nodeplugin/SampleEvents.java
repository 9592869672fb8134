package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HealthChange;
import dev.tranche.nodeplugin.gpu.RepeatedFaults;
import dev.tranche.nodeplugin.metrics.ContainerCollector;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.usage.ContainerUse;
import dev.tranche.nodeplugin.usage.Grants;
import dev.tranche.nodeplugin.usage.Overuse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Says what each sample brings that is news: to people as events, to Prometheus as series. Confined
 * to the event loop.
 */
final class SampleEvents {
  private final EventBuffer events;
  private final NodeMetrics metrics;
  private final Overuse overuse;
  private final ContainerCollector containers;
  private final RepeatedFaults repeatedFaults = new RepeatedFaults();
  private Grants grants = new Grants(Map.of());
  private List<Object> grantsMadeOf = List.of();

  SampleEvents(String node, EventBuffer events, NodeMetrics metrics, Overuse overuse) {
    this.events = events;
    this.metrics = metrics;
    this.overuse = overuse;
    this.containers = new ContainerCollector(node);
    metrics.collect(containers);
  }

  /**
   * Compares the GPUs with what the state knows, before it takes them.
   *
   * @return whether a cordon has begun or ended, which a scheduler should hear of at once
   */
  boolean sampled(PluginState state, List<GpuStatus> gpus) {
    HealthChange.between(state.gpus(), gpus).forEach(this::health);
    List<ContainerCollector.Row> rows = new ArrayList<>();
    boolean changed = uses(state, gpus, rows);
    containers.show(rows);
    return changed;
  }

  private void health(HealthChange news) {
    metrics.count(
        "tranche.node.gpu.health.changes", "Changes of a GPU's health.", "to", news.now().word());
    if (repeatedFaults.worthTelling(news, System.nanoTime() / 1_000_000)) {
      events.node(news.reason(), news.message(), !news.now().healthy());
    }
  }

  private boolean uses(PluginState state, List<GpuStatus> gpus, List<ContainerCollector.Row> rows) {
    Map<String, GpuSharing> sharing =
        state.replicas().map(replicas -> replicas.sharing()).orElse(Map.of());
    grant(state);
    boolean changed = false;
    for (GpuStatus gpu : gpus) {
      GpuSharing how = sharing.get(gpu.info().uuid());
      // A lost GPU tells nothing; what was known of it stays.
      if (how != null && gpu.load() != null) {
        changed |= state.holdingsKnown() && judged(gpu, how);
        gpu.uses().forEach(use -> rows.add(row(gpu.info(), use)));
      }
    }
    return changed;
  }

  // At each sample, and a node holds hundreds of replicas.
  private void grant(PluginState state) {
    List<Object> madeOf = List.of(state.holdings(), state.held().all());
    if (!madeOf.equals(grantsMadeOf)) {
      grantsMadeOf = madeOf;
      grants = Grants.of(state.holdings(), shares(state));
    }
  }

  private static Map<String, Double> shares(PluginState state) {
    Map<String, Double> shares = new HashMap<>();
    state.held().all().forEach(held -> shares.put(held.id(), held.share()));
    return shares;
  }

  private boolean judged(GpuStatus gpu, GpuSharing how) {
    // A share of unknown memory is unknown, too.
    if (usable(gpu.info()) == 0) {
      return false;
    }
    List<Overuse.News> news =
        overuse.judge(gpu.info().uuid(), usable(gpu.info()), how.replicas(), gpu.uses(), grants);
    news.forEach(n -> tell(gpu.info(), n));
    return !news.isEmpty();
  }

  private static long usable(GpuInfo gpu) {
    return Math.max(0, gpu.memoryTotalBytes() - gpu.memoryReservedBytes());
  }

  private ContainerCollector.Row row(GpuInfo gpu, ContainerUse use) {
    long granted = (long) (usable(gpu) * grants.share(gpu.uuid(), use));
    return new ContainerCollector.Row(gpu, use, granted, overuse.open(gpu.uuid(), use));
  }

  private void tell(GpuInfo gpu, Overuse.News news) {
    ContainerUse use = news.use();
    String on = " of GPU %d (%s)".formatted(gpu.index(), gpu.uuid());
    if (!news.began()) {
      events.pod(
          use.namespace(),
          use.pod(),
          "GpuOveruseEnded",
          "container " + use.container() + " keeps to its share" + on + " again",
          false);
      return;
    }
    metrics.count("tranche.node.overuse", "Times that a container used more than granted.");
    String sentence = news.sentence() + on;
    events.pod(use.namespace(), use.pod(), "GpuOveruse", sentence, true);
    for (String neighbour : news.neighbours()) {
      int slash = neighbour.indexOf('/');
      events.pod(
          neighbour.substring(0, slash),
          neighbour.substring(slash + 1),
          "GpuNeighbourOveruse",
          "on this pod's GPU another one takes more than its share: " + sentence,
          true);
    }
  }
}
