package dev.tranche.process.loop;

/**
 * How late the loop comes to what is due: the longest turn of other work. Beats on the loop; read
 * on any thread.
 */
public final class LoopLag {
  public static final long BEAT_MS = 20;

  /** The maximum is of the last one or two of these. */
  static final long WINDOW_NS = 60_000_000_000L;

  private long dueNs;
  private long windowEndNs;
  private long maxNs;
  private volatile long reportedNs;

  public LoopLag(long nowNs) {
    dueNs = nowNs;
    windowEndNs = nowNs + WINDOW_NS;
  }

  /** Records a beat, which was due {@link #BEAT_MS} after the one before. */
  public void beat(long nowNs) {
    long lateNs = Math.max(0, nowNs - dueNs);
    dueNs = nowNs + BEAT_MS * 1_000_000;
    if (nowNs - windowEndNs >= 0) {
      windowEndNs = nowNs + WINDOW_NS;
      reportedNs = maxNs;
      maxNs = 0;
    }
    maxNs = Math.max(maxNs, lateNs);
    reportedNs = Math.max(reportedNs, maxNs);
  }

  /** Returns the longest lag of the last minute or two. */
  public double seconds() {
    return reportedNs / 1e9;
  }
}
