package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.GpuInfo;

/**
 * One device that the plugin advertises to the kubelet.
 *
 * @param gpuHealthy whether its GPU may take new pods
 * @param stage whether new pods may have it
 */
public record Replica(String id, GpuInfo gpu, boolean gpuHealthy, Stage stage) {
  /** Whether a replica belongs to the current config or an earlier one. */
  public enum Stage {
    /** Of this config, available to any pod. */
    OFFERED,
    /** Of this config, but its part of the GPU is still held by replicas of an earlier one. */
    WITHHELD,
    /** Of an earlier config, kept only until its container ends. */
    RETIRED
  }

  Replica unhealthy() {
    return new Replica(id, gpu, false, stage);
  }

  /**
   * Returns whether the kubelet counts it as allocatable. A retired replica counts as long as its
   * container runs. kube-scheduler subtracts that container's request from allocatable. Without the
   * retired replicas, it would subtract the request from the free replicas of other GPUs.
   */
  public boolean healthy() {
    return stage != Stage.WITHHELD && gpuHealthy;
  }
}
