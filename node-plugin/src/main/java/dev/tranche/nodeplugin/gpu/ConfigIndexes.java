package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
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
        .map(gpu -> gpu.info().withIndex(indexes.getOrDefault(gpu.info().gpuUuid(), NONE)))
        .toList();
  }

  private void addIfNew(GpuInfo gpu) {
    if (!indexes.containsKey(gpu.gpuUuid())) {
      indexes.put(gpu.gpuUuid(), indexes.containsValue(gpu.index()) ? NONE : gpu.index());
    }
  }
}
