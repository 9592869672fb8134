package dev.tranche.extender.stream;

import java.util.Optional;

/**
 * Limits how fast one node may report, across its successive streams. The limits are far above what
 * a node needs, since its kubelet admits one pod after the other. Time is a parameter.
 */
final class ReportRate {
  static final int MESSAGES_PER_S = 100;
  static final int MESSAGES_BURST = 1_000;
  static final int BYTES_PER_S = 8 << 20;
  static final int BYTES_BURST = 32 << 20;

  private double messages = MESSAGES_BURST;
  private double bytes = BYTES_BURST;
  private long lastMs;

  ReportRate(long nowMs) {
    this.lastMs = nowMs;
  }

  /**
   * Takes a report into account.
   *
   * @return why it comes too soon, as a sentence
   */
  Optional<String> take(int size, long nowMs) {
    refill(nowMs);
    messages--;
    bytes -= size;
    if (messages >= 0 && bytes >= 0) {
      return Optional.empty();
    }
    return Optional.of(
        "the node reports too fast: allowed are %d reports and %d bytes a second, and %d reports and"
                .formatted(MESSAGES_PER_S, BYTES_PER_S, MESSAGES_BURST)
            + " "
            + BYTES_BURST
            + " bytes at once");
  }

  /** Whether the allowance is full again, so that this object can be dropped. */
  boolean isRefilled(long nowMs) {
    refill(nowMs);
    return messages >= MESSAGES_BURST && bytes >= BYTES_BURST;
  }

  private void refill(long nowMs) {
    double seconds = Math.max(0, nowMs - lastMs) / 1_000.0;
    lastMs = nowMs;
    messages = Math.min(MESSAGES_BURST, Math.max(0, messages) + seconds * MESSAGES_PER_S);
    bytes = Math.min(BYTES_BURST, Math.max(0, bytes) + seconds * BYTES_PER_S);
  }
}
