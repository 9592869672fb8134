package dev.tranche.nodeplugin.health;

/**
 * How health is judged.
 *
 * @param quietMs without another error, after which a GPU that answers is healthy again
 * @param reopenMs between two starts of NVML while a GPU is missing, since NVML shows a returned
 *     one only after a start
 */
public record HealthOptions(XidPolicy xids, long quietMs, long reopenMs) {
  private static final long REOPEN_MS = 30_000;

  public HealthOptions(XidPolicy xids, long quietMs) {
    this(xids, quietMs, REOPEN_MS);
  }
}
