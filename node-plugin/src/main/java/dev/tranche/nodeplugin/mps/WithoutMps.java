package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a node can offer while no control daemon serves it: its MPS GPUs, but whole. */
public final class WithoutMps {
  private WithoutMps() {}

  /**
   * Changes a sharing.
   *
   * @param sharing of every GPU, by uuid
   * @param config names unshared GPUs
   */
  public static Map<String, GpuSharing> of(
      Map<String, GpuSharing> sharing, Config config, List<GpuInfo> gpus) {
    Map<String, GpuSharing> without = new HashMap<>(sharing);
    for (GpuInfo gpu : gpus) {
      GpuSharing how = sharing.get(gpu.uuid());
      if (how != null && how.strategy() == SharingStrategy.MPS) {
        without.put(gpu.uuid(), GpuSharing.whole(config.resources().ofGpu(gpu.model())));
      }
    }
    return without;
  }
}
