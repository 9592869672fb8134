package dev.tranche.extender.stream;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.Placement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Puts a node's report in our terms. */
public final class ReportReader {
  private ReportReader() {}

  /**
   * @param readings by uuid
   */
  public record Reading(Event.Reported report, Map<String, LoadReading> readings) {}

  /**
   * @param node by the sender's token, not by what the report says
   * @param nowMs of our clock, at receipt
   */
  public static Reading read(String node, NodeReport report, long nowMs) {
    return read(node, report, nowMs, null);
  }

  /**
   * The same, and unchanged parts stay the same objects. Thousands of nodes repeat themselves, and
   * new objects would grow old only to be thrown away.
   */
  static Reading read(String node, NodeReport report, long nowMs, @Nullable NodeState before) {
    var readings = new HashMap<String, LoadReading>();
    for (Gpu gpu : report.getGpusList()) {
      if (gpu.hasLoad()) {
        readings.put(
            gpu.getUuid(),
            reading(gpu.getLoad(), gpu.getPodUsesList(), report.getSentAtMs(), nowMs));
      }
    }
    var state =
        new NodeState(
            report.getRegistered() && !report.getDraining(),
            gpus(report.getGpusList(), before == null ? List.of() : before.gpus()),
            holdings(report.getHoldingsList()),
            report.getHoldingsKnown(),
            RetiredReplicas.of(report),
            report.getAssignmentsList().stream().map(ReportReader::assignment).toList());
    return new Reading(
        new Event.Reported(node, kept(state, before), listAgeMs(report, 0)), readings);
  }

  /**
   * Of a brief report.
   *
   * @param before by the whole report that it goes by; of as many GPUs
   * @return readings by uuid
   */
  static Map<String, LoadReading> brief(NodeReport brief, long nowMs, NodeState before) {
    var readings = new HashMap<String, LoadReading>();
    for (int i = 0; i < before.gpus().size(); i++) {
      GpuReading gpu = brief.getReadings(i);
      if (gpu.hasLoad()) {
        readings.put(
            before.gpus().get(i).uuid(),
            reading(gpu.getLoad(), gpu.getPodUsesList(), brief.getSentAtMs(), nowMs));
      }
    }
    return readings;
  }

  /**
   * @param waitedMs since the report came
   */
  static OptionalLong listAgeMs(NodeReport report, long waitedMs) {
    return report.hasHoldingsAgeMs()
        ? OptionalLong.of(Integer.toUnsignedLong(report.getHoldingsAgeMs()) + waitedMs)
        : OptionalLong.empty();
  }

  private static NodeState kept(NodeState now, @Nullable NodeState before) {
    return before != null && now.equals(before) ? before : now;
  }

  /** The list of before, if all in it is as it was. */
  private static List<GpuFacts> gpus(List<Gpu> gpus, List<GpuFacts> before) {
    var facts = new ArrayList<GpuFacts>(gpus.size());
    for (int i = 0; i < gpus.size(); i++) {
      facts.add(gpu(gpus.get(i), i < before.size() ? before.get(i) : null));
    }
    return facts.equals(before) ? before : facts;
  }

  /** Thousands of GPUs are of few models. */
  private static GpuFacts gpu(Gpu gpu, @Nullable GpuFacts before) {
    GpuFacts now = gpu(gpu, gpu.getModel(), gpu.getResource());
    return before != null && now.equals(before)
        ? before
        : gpu(gpu, gpu.getModel().intern(), gpu.getResource().intern());
  }

  /** So old a reading says nothing of load, whatever its sender says of its age. */
  private static final long READING_AGE_MS_MAX = 600_000;

  /** More than any GPU has; sums of thousands do not overflow. */
  private static final long MEMORY_BYTES_MAX = 1L << 50;

  private static long ageMs(long sampledAtMs, long sentAtMs) {
    long ageMs = sentAtMs - sampledAtMs;
    boolean overflows = ageMs < 0 && sampledAtMs <= sentAtMs;
    return overflows ? READING_AGE_MS_MAX : Math.clamp(ageMs, 0, READING_AGE_MS_MAX);
  }

  /** Unsigned on the wire; what is beyond all bounds is in use rather than free. */
  private static long memoryBytes(long unsigned) {
    return unsigned < 0 ? MEMORY_BYTES_MAX : Math.min(unsigned, MEMORY_BYTES_MAX);
  }

  private static int count(int unsigned) {
    return unsigned < 0 ? Integer.MAX_VALUE : unsigned;
  }

  /** The sender's clock is only compared with itself: it tells the reading's age. */
  private static LoadReading reading(GpuLoad load, List<PodUse> uses, long sentAtMs, long nowMs) {
    return new LoadReading(
        memoryBytes(load.getMemoryUsedBytes()),
        part(load.getSmUtilizationPercent()),
        part(load.getSmUtilizationMeanPercent()),
        count(load.getProcesses()),
        nowMs - ageMs(load.getSampledAtMs(), sentAtMs),
        memoryByPod(uses),
        smByPod(uses, load.getSmUtilizationPercent()));
  }

  /** A pod's containers together. */
  private static Map<String, Long> memoryByPod(List<PodUse> containers) {
    var byPod = new HashMap<String, Long>();
    for (PodUse use : containers) {
      long used = memoryBytes(use.getMemoryUsedBytes());
      byPod.merge(use.getNamespace() + "/" + use.getPod(), used, Long::sum);
    }
    return byPod;
  }

  /** Likewise, 0 to 1, and what is left for others. */
  private static Map<String, Double> smByPod(List<PodUse> containers, double allPercent) {
    if (containers.isEmpty()) {
      return Map.of();
    }
    var byPod = new HashMap<String, Double>();
    double others = part(allPercent);
    for (PodUse use : containers) {
      double used = part(use.getSmUtilizationPercent());
      byPod.merge(use.getNamespace() + "/" + use.getPod(), used, (a, b) -> Math.min(1, a + b));
      others -= used;
    }
    byPod.put(LoadReading.OTHERS, Math.max(0, others));
    return byPod;
  }

  /** What is not a number would spoil every mean that it enters. */
  private static double part(double percent) {
    return Double.isNaN(percent) ? 0 : Math.clamp(percent / 100, 0, 1);
  }

  private static GpuFacts gpu(Gpu gpu, String model, String resource) {
    int replicas = Math.max(1, gpu.getReplicas());
    long usableBytes =
        memoryBytes(gpu.getMemoryTotalBytes()) - memoryBytes(gpu.getMemoryReservedBytes());
    return new GpuFacts(
        gpu.getUuid(),
        count(gpu.getIndex()),
        model,
        resource,
        replicas,
        Math.max(0, usableBytes),
        gpu.getHealth() == Health.HEALTH_HEALTHY,
        gpu.getHealthReason(),
        count(gpu.getMaxClients()),
        gpu.getCordonReason(),
        Math.min(replicas, count(gpu.getWithheldReplicas())));
  }

  private static Map<String, Map<String, Map<String, Integer>>> holdings(List<Holding> holdings) {
    var byPod = new HashMap<String, Map<String, Map<String, Integer>>>();
    for (Holding holding : holdings) {
      var uuids =
          byPod
              .computeIfAbsent(
                  holding.getNamespace() + "/" + holding.getPod(), key -> new HashMap<>())
              .computeIfAbsent(holding.getContainer(), name -> new HashMap<>());
      holding.getDeviceIdsList().forEach(id -> uuids.merge(ReplicaId.uuidOf(id), 1, Integer::sum));
    }
    return byPod;
  }

  private static Assignment assignment(dev.tranche.api.node.Assignment echo) {
    var containers = new ArrayList<Placement.Container>();
    for (var container : echo.getContainersList()) {
      var shares =
          container.getSharesList().stream()
              .map(s -> new Placement.Share(s.getUuid(), s.getReplicas()))
              .toList();
      containers.add(new Placement.Container(container.getContainer(), shares));
    }
    String key = echo.getNamespace() + "/" + echo.getPod();
    return new Assignment(
        echo.getPodUid(),
        key,
        echo.getResource(),
        Placement.of(containers),
        echo.getReplicasPerGpu());
  }
}
