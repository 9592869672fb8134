package dev.tranche.nodeplugin.gpu;

/**
 * One device of the kubelet's.
 *
 * @param shared has siblings on its GPU
 * @param stage whether new pods may have it
 */
public record Replica(String id, GpuStatus gpu, boolean shared, Stage stage) {
  /** Where a replica stands between an earlier config and this one. */
  public enum Stage {
    /** Of this config, for any pod. */
    OFFERED,
    /** Of this config, but its part of the GPU is still held by replicas of an earlier one. */
    WITHHELD,
    /** Of an earlier config, there only until its container ends. */
    RETIRED
  }

  /**
   * Whether the kubelet counts it as allocatable. A retired one counts for as long as its container
   * runs: kube-scheduler subtracts that container's request from what is allocatable, and would
   * subtract it from the free replicas of other GPUs if the retired ones were missing.
   */
  public boolean healthy() {
    return stage != Stage.WITHHELD && gpu.health().healthy();
  }
}
