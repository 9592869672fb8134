package dev.tranche.nodeplugin;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.Limited;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import dev.tranche.api.node.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Load;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.limit.ContainerLimit;
import dev.tranche.nodeplugin.nvml.Gpm;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.usage.ContainerUse;
import dev.tranche.nodeplugin.usage.Overuse;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Builds reports of the node's state, and decides when a change of the GPUs is worth a report. */
final class ReportBuilder {
  private final String node;
  private final String instance;
  private final Overuse overuse;
  private List<GpuStatus> reported = List.of();

  /**
   * @param instance identifies this run of the plugin
   */
  ReportBuilder(String node, String instance, Overuse overuse) {
    this.node = node;
    this.instance = instance;
    this.overuse = overuse;
  }

  /**
   * Returns a report of the node's current state.
   *
   * @param nowMs milliseconds since 1970
   * @param clockMs current time of the clock by which the GPUs were sampled
   */
  NodeReport.Builder report(PluginState state, boolean registered, long nowMs, long clockMs) {
    NodeReport.Builder report =
        NodeReport.newBuilder()
            .setSentAtMs(nowMs)
            .setNode(node)
            .setPluginInstance(instance)
            .setRegistered(registered)
            .addAllHoldings(state.holdingsByReplicas())
            .addAllHoldings(state.leftByInits())
            .setHoldingsKnown(state.holdingsKnown())
            .setConfig(state.configStatus());
    state.replicas().ifPresent(replicas -> addGpus(report, replicas, state, nowMs - clockMs));
    return report;
  }

  private static dev.tranche.api.node.ContainerLimit limit(ContainerLimit limit) {
    return dev.tranche.api.node.ContainerLimit.newBuilder()
        .setNamespace(limit.container().pod().namespace())
        .setPod(limit.container().pod().name())
        .setContainer(limit.container().name())
        .setLimited(
            switch (limit.limited()) {
              case YES -> Limited.LIMITED_YES;
              case PARTLY -> Limited.LIMITED_PARTLY;
              case NO -> Limited.LIMITED_NO;
              case OPTED_OUT -> Limited.LIMITED_OPTED_OUT;
            })
        .build();
  }

  private void addGpus(
      NodeReport.Builder report, NodeReplicas replicas, PluginState state, long epochMs) {
    Map<String, Integer> withheld = replicas.withheld();
    for (GpuStatus gpu : state.advertisedGpus()) {
      String uuid = gpu.info().uuid();
      GpuSharing sharing = replicas.sharing().get(uuid);
      if (sharing != null) {
        Gpu.Builder shown = gpu(sharing, gpu, epochMs);
        shown.setWithheldReplicas(withheld.getOrDefault(uuid, 0));
        state.containerLimits().stream()
            .filter(limit -> limit.uuid().equals(uuid))
            .forEach(limit -> shown.addLimits(limit(limit)));
        report.addGpus(shown);
      }
    }
  }

  /**
   * @param epochMs milliseconds since 1970 at which the sampling clock was 0
   */
  private Gpu.Builder gpu(GpuSharing sharing, GpuStatus status, long epochMs) {
    SharingStrategy strategy =
        switch (sharing.strategy()) {
          case NONE -> SharingStrategy.SHARING_STRATEGY_NONE;
          case TIME_SLICING -> SharingStrategy.SHARING_STRATEGY_TIME_SLICING;
          case MPS -> SharingStrategy.SHARING_STRATEGY_MPS;
        };
    boolean mps = strategy == SharingStrategy.SHARING_STRATEGY_MPS;
    GpuInfo info = status.info();
    Gpu.Builder gpu =
        Gpu.newBuilder()
            .setUuid(info.uuid())
            .setIndex(info.index())
            .setModel(info.model())
            .setMemoryTotalBytes(info.memoryTotalBytes())
            .setMemoryReservedBytes(info.memoryReservedBytes())
            .setResource(sharing.resource())
            .setReplicas(sharing.replicas())
            .setShared(sharing.shared())
            .setHealth(status.health().healthy() ? Health.HEALTH_HEALTHY : Health.HEALTH_UNHEALTHY)
            .setHealthReason(status.health().reason())
            .setSharingStrategy(strategy)
            .setMaxClients(mps ? info.mpsClientsMax() : 0)
            .setCordonReason(overuse.cordonReason(info.uuid()));
    info.migDevice().ifPresent(device -> gpu.setMigProfile(device.profile()));
    status.uses().forEach(use -> gpu.addPodUses(use(use)));
    if (status.load() != null) {
      gpu.setLoad(load(status.load(), epochMs));
    }
    return gpu;
  }

  private static PodUse use(ContainerUse use) {
    return PodUse.newBuilder()
        .setNamespace(use.container().pod().namespace())
        .setPod(use.container().pod().name())
        .setContainer(use.container().name())
        .setMemoryUsedBytes(Math.max(0, use.memoryUsedBytes()))
        .setMemoryUnknown(use.memoryUsedBytes() < 0)
        .setSmUtilizationPercent((float) use.smPercent())
        .build();
  }

  private static GpuLoad load(Load load, long epochMs) {
    GpuLoad.Builder report =
        GpuLoad.newBuilder()
            .setSampledAtMs(epochMs + load.sampledAtMs())
            .setMemoryUsedBytes(Math.max(0, load.now().memoryUsedBytes()))
            .setMemoryUnknown(load.now().memoryUsedBytes() < 0)
            .setSmUtilizationPercent(load.now().smPercent())
            .setSmUtilizationMeanPercent((float) load.smMeanPercent())
            .setProcesses(load.now().processes());
    Gpm gpm = load.now().gpm();
    ifKnown(gpm.smPercent(), report::setSmActivePercent);
    ifKnown(gpm.smOccupancyPercent(), report::setSmOccupancyPercent);
    ifKnown(gpm.tensorPercent(), report::setTensorActivePercent);
    ifKnown(gpm.dramPercent(), report::setDramActivePercent);
    return report.build();
  }

  private static void ifKnown(double percent, Consumer<Float> set) {
    if (!Double.isNaN(percent)) {
      set.accept((float) percent);
    }
  }

  /**
   * Returns whether these GPUs differ enough from those last reported. If so, they count as
   * reported.
   */
  boolean markReportedIfChanged(List<GpuStatus> gpus) {
    boolean same =
        gpus.size() == reported.size()
            && IntStream.range(0, gpus.size())
                .noneMatch(i -> gpus.get(i).differsFrom(reported.get(i)));
    if (!same) {
      reported = gpus;
    }
    return !same;
  }
}
