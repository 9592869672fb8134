package dev.tranche.extender.stream;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.ContainerLimit;
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
import dev.tranche.extender.ledger.Limited;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.NodeState.Grant;
import dev.tranche.extender.load.GpuActivity;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.Placement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Converts a node's report to the extender's own types. */
public final class ReportReader {
  private ReportReader() {}

  /**
   * @param readings by uuid
   */
  public record Reading(Event.Reported report, Map<String, LoadReading> readings) {}

  /**
   * Reads a report and reuses the previous objects for unchanged parts. Thousands of nodes repeat
   * themselves, and new objects would grow old only to be discarded.
   *
   * @param node from the sender's token, not from the report
   * @param nowMs of our clock, at receipt
   */
  public static Reading read(
      String node, NodeReport report, long nowMs, @Nullable NodeState before) {
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
            grants(report),
            report.getAssignmentsList().stream().map(ReportReader::assignment).toList());
    NodeState kept = before != null && state.equals(before) ? before : state;
    return new Reading(new Event.Reported(node, kept, listAgeMs(report, 0)), readings);
  }

  /**
   * Reads a brief report.
   *
   * @param before the state of the whole report that it refers to, with as many GPUs
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

  /** Returns the previous list if nothing in it has changed. */
  private static List<GpuFacts> gpus(List<Gpu> gpus, List<GpuFacts> before) {
    var facts = new ArrayList<GpuFacts>(gpus.size());
    for (int i = 0; i < gpus.size(); i++) {
      facts.add(gpu(gpus.get(i), i < before.size() ? before.get(i) : null));
    }
    return facts.equals(before) ? before : facts;
  }

  /** Interns the model and the resource, since thousands of GPUs share a few. */
  private static GpuFacts gpu(Gpu gpu, @Nullable GpuFacts before) {
    GpuFacts now = gpu(gpu, gpu.getModel(), gpu.getResource());
    return before != null && now.equals(before)
        ? before
        : gpu(gpu, gpu.getModel().intern(), gpu.getResource().intern());
  }

  /**
   * Caps a reading's age, whatever its sender claims. An older reading would be just as useless.
   */
  private static final long READING_AGE_MS_MAX = 600_000;

  /** More than any GPU has; sums of thousands do not overflow. */
  private static final long MEMORY_BYTES_MAX = 1L << 50;

  private static long ageMs(long sampledAtMs, long sentAtMs) {
    long ageMs = sentAtMs - sampledAtMs;
    boolean overflows = ageMs < 0 && sampledAtMs <= sentAtMs;
    return overflows ? READING_AGE_MS_MAX : Math.clamp(ageMs, 0, READING_AGE_MS_MAX);
  }

  /**
   * Clamps an unsigned number. A value beyond the maximum must count as used memory, not as free.
   */
  private static long memoryBytes(long unsigned) {
    return unsigned < 0 ? MEMORY_BYTES_MAX : Math.min(unsigned, MEMORY_BYTES_MAX);
  }

  private static int count(int unsigned) {
    return unsigned < 0 ? Integer.MAX_VALUE : unsigned;
  }

  /** Uses the sender's clock only for the reading's age, the difference of two of its own times. */
  private static LoadReading reading(GpuLoad load, List<PodUse> uses, long sentAtMs, long nowMs) {
    return new LoadReading(
        memoryBytes(load.getMemoryUsedBytes()),
        part(load.getSmUtilizationPercent()),
        part(load.getSmUtilizationMeanPercent()),
        count(load.getProcesses()),
        nowMs - ageMs(load.getSampledAtMs(), sentAtMs),
        memoryByPod(uses),
        smByPod(uses, load.getSmUtilizationPercent()),
        activity(load),
        !load.getMemoryUnknown());
  }

  private static @Nullable GpuActivity activity(GpuLoad load) {
    boolean none =
        !load.hasSmActivePercent()
            && !load.hasSmOccupancyPercent()
            && !load.hasTensorActivePercent()
            && !load.hasDramActivePercent();
    return none
        ? null
        : new GpuActivity(
            known(load.hasSmActivePercent(), load.getSmActivePercent()),
            known(load.hasSmOccupancyPercent(), load.getSmOccupancyPercent()),
            known(load.hasTensorActivePercent(), load.getTensorActivePercent()),
            known(load.hasDramActivePercent(), load.getDramActivePercent()));
  }

  /** Converts percent to 0 to 1. NaN stays: not known. */
  private static float known(boolean known, float percent) {
    return known ? Math.clamp(percent / 100, 0, 1) : Float.NaN;
  }

  /** Adds up each pod's containers. */
  private static Map<String, Long> memoryByPod(List<PodUse> containers) {
    var byPod = new HashMap<String, Long>();
    for (PodUse use : containers) {
      long used = memoryBytes(use.getMemoryUsedBytes());
      byPod.merge(use.getNamespace() + "/" + use.getPod(), used, Long::sum);
    }
    // A pod of which a part is not known is not known.
    containers.stream()
        .filter(PodUse::getMemoryUnknown)
        .forEach(use -> byPod.remove(use.getNamespace() + "/" + use.getPod()));
    return byPod;
  }

  /** Adds up each pod's containers, from 0 to 1; the rest counts as the use of others. */
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

  /** Converts percent to 0 to 1. NaN becomes 0, since it would spoil every mean that it enters. */
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
        Math.min(replicas, count(gpu.getWithheldReplicas())),
        limited(gpu.getLimitsList()));
  }

  /** The container that is limited least counts for its pod. */
  private static Map<String, Limited> limited(List<ContainerLimit> limits) {
    var byPod = new HashMap<String, Limited>();
    for (ContainerLimit limit : limits) {
      @Nullable Limited limited =
          switch (limit.getLimited()) {
            case LIMITED_YES -> Limited.YES;
            case LIMITED_PARTLY -> Limited.PARTLY;
            case LIMITED_NO -> Limited.NO;
            case LIMITED_OPTED_OUT -> Limited.OPTED_OUT;
            case LIMITED_UNSPECIFIED, UNRECOGNIZED -> null;
          };
      if (limited != null) {
        byPod.merge(limit.getNamespace() + "/" + limit.getPod(), limited, Limited::orWorse);
      }
    }
    return byPod;
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

  /** A pod that has replicas of several R on a GPU counts as if all were the largest ones. */
  private static Map<String, Map<String, Grant>> grants(NodeReport report) {
    var gpus = new HashMap<String, Gpu>();
    report.getGpusList().forEach(gpu -> gpus.putIfAbsent(gpu.getUuid(), gpu));
    var byPod = new HashMap<String, Map<String, Grant>>();
    for (Holding holding : report.getHoldingsList()) {
      if (holding.getReplicasPerGpu() != 0) {
        var uuids =
            byPod.computeIfAbsent(
                holding.getNamespace() + "/" + holding.getPod(), key -> new HashMap<>());
        for (String id : holding.getDeviceIdsList()) {
          String uuid = ReplicaId.uuidOf(id);
          var grant = grant(holding, gpus.get(uuid));
          uuids.merge(uuid, grant, Grant::orLarger);
        }
      }
    }
    return byPod;
  }

  private static Grant grant(Holding holding, @Nullable Gpu gpu) {
    int of = count(holding.getReplicasPerGpu());
    boolean current =
        gpu != null
            && of == Math.max(1, gpu.getReplicas())
            && holding.getResource().equals(gpu.getResource());
    return new Grant(of, !current);
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
    var held = new HashMap<String, Integer>();
    echo.getHeldList().forEach(s -> held.merge(s.getUuid(), s.getReplicas(), Integer::sum));
    return new Assignment(
        echo.getPodUid(),
        echo.getNamespace() + "/" + echo.getPod(),
        echo.getResource(),
        held.isEmpty() ? Placement.of(containers) : new Placement(containers, held),
        echo.getReplicasPerGpu(),
        Map.of());
  }
}
