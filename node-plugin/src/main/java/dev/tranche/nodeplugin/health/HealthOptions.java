package dev.tranche.nodeplugin.health;

/**
 * How the health of GPUs is determined.
 *
 * @param quietMs time without another error, after which a GPU that answers is healthy again
 * @param reopenMs time between two starts of NVML while a GPU is missing; NVML shows a returned GPU
 *     only after a start
 */
public record HealthOptions(XidPolicy xids, long quietMs, long reopenMs) {
  private static final long REOPEN_MS = 30_000;

  public HealthOptions(XidPolicy xids, long quietMs) {
    this(xids, quietMs, REOPEN_MS);
  }
}
