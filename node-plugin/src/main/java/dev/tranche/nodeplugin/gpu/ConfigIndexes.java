package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The indexes by which a config names GPUs. NVML gives the index of a lost GPU to another one; so
 * while any is lost, each GPU keeps its own, and a lost GPU does not change how others are shared.
 * Confined to one thread.
 */
public final class ConfigIndexes {
  // No config can name it.
  private static final int NONE = -1;

  private final Map<String, Integer> indexes = new HashMap<>();

  /** Returns these GPUs with the indexes by which a config names them. */
  public List<GpuInfo> apply(List<GpuStatus> gpus) {
    if (gpus.stream().noneMatch(gpu -> gpu.health() instanceof Health.Lost)) {
      indexes.clear();
    }
    gpus.forEach(gpu -> addIfNew(gpu.info()));
    return gpus.stream()
        .map(gpu -> gpu.info().withIndex(indexes.getOrDefault(ownUuid(gpu.info()), NONE)))
        .toList();
  }

  private void addIfNew(GpuInfo gpu) {
    String uuid = ownUuid(gpu);
    if (!indexes.containsKey(uuid)) {
      indexes.put(uuid, indexes.containsValue(gpu.index()) ? NONE : gpu.index());
    }
  }

  private static String ownUuid(GpuInfo gpu) {
    return gpu.migDevice().map(Mig.Device::parentUuid).orElse(gpu.uuid());
  }
}
