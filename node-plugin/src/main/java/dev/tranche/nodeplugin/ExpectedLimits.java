package dev.tranche.nodeplugin;

import dev.tranche.api.GpuPart;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.limit.ExpectedLimit;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.usage.ContainerCgroups;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** The memory limits that containers should have by what they hold, as Allocate has set them. */
final class ExpectedLimits {
  private ExpectedLimits() {}

  /**
   * @param holdings with the replicas per GPU that they were granted in
   * @param sharing by uuid
   * @param held with what pods say about the limits
   */
  static List<ExpectedLimit> of(
      List<Holding> holdings,
      List<GpuStatus> gpus,
      Map<String, GpuSharing> sharing,
      NodeLimits limits,
      HeldReplicas held) {
    Map<String, GpuInfo> byUuid = new HashMap<>();
    gpus.forEach(gpu -> byUuid.put(gpu.info().uuid(), gpu.info()));
    Map<ContainerCgroups.Name, Map<String, GpuPart>> parts = new LinkedHashMap<>();
    Map<ContainerCgroups.Name, OptionalLong> choices = new HashMap<>();
    for (Holding holding : holdings) {
      if (holding.getReplicasPerGpu() > 0) {
        choices.putIfAbsent(name(holding), held.memoryLimit(holding));
        Map<String, GpuPart> own = parts.computeIfAbsent(name(holding), n -> new LinkedHashMap<>());
        GpuPart one = GpuPart.of(1, holding.getReplicasPerGpu());
        holding
            .getDeviceIdsList()
            .forEach(id -> own.merge(ReplicaId.uuidOf(id), one, GpuPart::plus));
      }
    }
    List<ExpectedLimit> expected = new ArrayList<>();
    parts.forEach(
        (container, own) ->
            of(container, own, byUuid, sharing).stream()
                .map(
                    limit ->
                        limit.to(
                            limits.hardBytes(
                                limit.hardBytes(),
                                choices.getOrDefault(container, OptionalLong.empty()))))
                .forEach(expected::add));
    return expected;
  }

  private static ContainerCgroups.Name name(Holding holding) {
    return new ContainerCgroups.Name(
        holding.getNamespace(), holding.getPod(), holding.getContainer());
  }

  /** The hook sets the limit of the smallest share for each GPU. */
  private static List<ExpectedLimit> of(
      ContainerCgroups.Name container,
      Map<String, GpuPart> parts,
      Map<String, GpuInfo> gpus,
      Map<String, GpuSharing> sharing) {
    List<ExpectedLimit> limits = new ArrayList<>();
    long least = Long.MAX_VALUE;
    for (var entry : parts.entrySet()) {
      GpuInfo gpu = gpus.get(entry.getKey());
      GpuSharing how = sharing.get(entry.getKey());
      // The limit of a container with an unknown GPU is unknown, too.
      if (gpu == null || how == null) {
        return List.of();
      }
      long bytes = entry.getValue().of(gpu.usableBytes()) >> 20 << 20;
      least = Math.min(least, bytes);
      if (how.takesLimits(gpu) && entry.getValue().value() < 1) {
        limits.add(new ExpectedLimit(container, gpu.uuid(), bytes));
      }
    }
    long smallest = least;
    return limits.stream().map(limit -> limit.to(smallest)).toList();
  }
}
