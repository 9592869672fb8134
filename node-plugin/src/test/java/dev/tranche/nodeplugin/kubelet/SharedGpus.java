package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Healthy GPUs of a node that are all shared alike. */
final class SharedGpus {
  private SharedGpus() {}

  static Replicas replicas(GpuSharing sharing, List<GpuInfo> gpus, String... flags) {
    List<GpuStatus> healthy =
        gpus.stream().map(gpu -> new GpuStatus(gpu, new Health.Healthy(), null)).toList();
    var byUuid = gpus.stream().collect(Collectors.toMap(GpuInfo::uuid, gpu -> sharing));
    return NodeReplicas.of(Configs.of(flags), healthy, byUuid, List.of()).byResource().getFirst();
  }

  /** The first replicas of a GPU. */
  static List<String> ids(String uuid, int count) {
    return IntStream.range(0, count).mapToObj(i -> uuid + "::" + i).toList();
  }
}
