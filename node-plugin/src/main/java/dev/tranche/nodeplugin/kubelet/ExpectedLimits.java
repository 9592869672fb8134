package dev.tranche.nodeplugin.kubelet;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import dev.tranche.api.GpuPart;
import dev.tranche.api.LimitRequest;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.limit.ExpectedLimit;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.usage.ContainerName;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** The memory limits that containers should have by what they hold, as Allocate has set them. */
public final class ExpectedLimits {
  private ExpectedLimits() {}

  /**
   * @param holdings with the replicas per GPU that they were granted in
   * @param sharing by uuid
   * @param held with what pods say about the limits
   */
  public static List<ExpectedLimit> of(
      List<Holding> holdings,
      List<GpuStatus> gpus,
      Map<String, GpuSharing> sharing,
      NodeLimits limits,
      HeldReplicas held) {
    Map<String, GpuInfo> byUuid = new HashMap<>();
    gpus.forEach(gpu -> byUuid.put(gpu.info().uuid(), gpu.info()));
    Map<ContainerName, List<Holding>> byContainer =
        holdings.stream()
            .filter(holding -> holding.getReplicasPerGpu() > 0)
            .collect(groupingBy(ContainerName::of, LinkedHashMap::new, toList()));
    List<ExpectedLimit> expected = new ArrayList<>();
    byContainer.forEach(
        (container, own) -> {
          List<GrantedShare> shares = shares(own, byUuid, sharing);
          OptionalLong mib = LimitVariables.mib(limits, shares, held.memoryLimit(own.getFirst()));
          long bytes = mib.isPresent() ? mib.getAsLong() << 20 : LimitRequest.NONE;
          shares.stream()
              .filter(GrantedShare::takesLimit)
              .map(share -> new ExpectedLimit(container, share.gpu().uuid(), bytes))
              .forEach(expected::add);
        });
    return expected;
  }

  /** Returns none if a GPU is unknown: then so is the limit of its container. */
  private static List<GrantedShare> shares(
      List<Holding> holdings, Map<String, GpuInfo> gpus, Map<String, GpuSharing> sharing) {
    Map<String, GpuPart> parts = new LinkedHashMap<>();
    for (Holding holding : holdings) {
      GpuPart one = GpuPart.of(1, holding.getReplicasPerGpu());
      holding
          .getDeviceIdsList()
          .forEach(id -> parts.merge(ReplicaId.uuidOf(id), one, GpuPart::plus));
    }
    List<GrantedShare> shares = new ArrayList<>();
    for (var part : parts.entrySet()) {
      GpuInfo gpu = gpus.get(part.getKey());
      GpuSharing how = sharing.get(part.getKey());
      if (gpu == null || how == null) {
        return List.of();
      }
      shares.add(new GrantedShare(gpu, how, part.getValue()));
    }
    return shares;
  }
}
