package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.List;
import java.util.Map;

/** What a config makes of the GPUs of a node. */
public sealed interface SharingPlan {
  /**
   * It can be carried out.
   *
   * @param byUuid every GPU
   * @param warnings what the config asks for and these GPUs do not have
   */
  record Fits(Map<String, GpuSharing> byUuid, List<String> warnings) implements SharingPlan {
    public Fits {
      byUuid = Map.copyOf(byUuid);
      warnings = List.copyOf(warnings);
    }
  }

  /** It cannot; the sentence says why and what to do. */
  record DoesNotFit(String reason) implements SharingPlan {}

  /**
   * Plans.
   *
   * @param gpus in NVML's order
   */
  static SharingPlan of(Config config, List<GpuInfo> gpus) {
    return new SharingPlanner(config, gpus).plan();
  }
}
