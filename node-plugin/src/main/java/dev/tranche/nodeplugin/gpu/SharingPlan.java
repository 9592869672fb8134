package dev.tranche.nodeplugin.gpu;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toList;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** How a config shares the GPUs of a node. */
public sealed interface SharingPlan {
  /**
   * The config fits.
   *
   * @param byUuid every GPU and MIG device that is advertised
   * @param warnings what the config requests and these GPUs do not have
   */
  record Fits(Map<String, GpuSharing> byUuid, List<String> warnings) implements SharingPlan {
    /**
     * Returns a summary for people, such as {@code nvidia.com/gpu: 2 GPUs, 20 replicas; …}, or that
     * there is nothing to advertise.
     */
    public String summary() {
      Map<String, List<GpuSharing>> byResource =
          byUuid.values().stream()
              .collect(groupingBy(GpuSharing::resource, TreeMap::new, toList()));
      return byResource.isEmpty()
          ? "no GPU to advertise"
          : byResource.entrySet().stream()
              .map(e -> e.getKey() + ": " + counts(e.getValue()))
              .collect(joining("; "));
    }

    private static String counts(List<GpuSharing> gpus) {
      int replicas = gpus.stream().mapToInt(GpuSharing::replicas).sum();
      return "%d GPU%s, %d replica%s"
          .formatted(gpus.size(), gpus.size() == 1 ? "" : "s", replicas, replicas == 1 ? "" : "s");
    }
  }

  /** The config does not fit; the reason also says what to do. */
  record DoesNotFit(String reason) implements SharingPlan {}

  /**
   * Makes the plan.
   *
   * @param gpus in NVML's order, each followed by its MIG devices
   */
  static SharingPlan of(Config config, List<GpuInfo> gpus) {
    return new SharingPlanner(config, gpus).plan();
  }
}
