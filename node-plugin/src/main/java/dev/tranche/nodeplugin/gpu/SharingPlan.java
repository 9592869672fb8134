package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** What a config makes of the GPUs of a node. */
public sealed interface SharingPlan {
  /**
   * It can be carried out.
   *
   * @param byUuid every GPU and MIG device that is advertised
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
   * @param gpus in NVML's order, each with its MIG devices behind it
   */
  static SharingPlan of(Config config, List<GpuInfo> gpus) {
    return switch (MigPlan.of(config.migStrategy(), gpus)) {
      case MigPlan.Invalid invalid -> new DoesNotFit(invalid.reason());
      case MigPlan.Devices mig ->
          switch (new SharingPlanner(config, mig.devices()).plan()) {
            case Fits fits -> new Fits(fits.byUuid(), both(mig.warnings(), fits.warnings()));
            case DoesNotFit misfit -> misfit;
          };
    };
  }

  private static List<String> both(List<String> one, List<String> other) {
    return Stream.concat(one.stream(), other.stream()).toList();
  }
}
