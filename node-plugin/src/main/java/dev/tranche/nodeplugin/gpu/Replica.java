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

  public boolean healthy() {
    return stage == Stage.OFFERED && gpu.health().healthy();
  }
}
