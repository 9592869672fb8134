package dev.tranche.extender.ledger;

/**
 * The Ledger's timeouts.
 *
 * @param tentativeMs after this time a hold that is not bound is dropped. It is longer than
 *     kube-scheduler takes from prioritize to bind, unless a volume is made meanwhile
 * @param unknownBindMs after this time the API server is asked about a binding that it may have
 *     accepted, but no informer has shown. No request of an extender replica that has died lasts
 *     longer
 * @param tombstoneMs how late the events of a deleted pod may come
 * @param nominatedMs how long a GPU is held for a nominated pod; longer than most victims take to
 *     end
 * @param terminatingMs a pod that has been terminating for longer than this may never end
 * @param youngMs how long after a pod begins its work its GPU's mean load may not show it
 */
public record Timing(
    long tentativeMs,
    long unknownBindMs,
    long tombstoneMs,
    long nominatedMs,
    long terminatingMs,
    long youngMs) {
  public static final Timing DEFAULT = new Timing(30_000, 60_000, 15_000, 600_000, 60_000, 30_000);

  /**
   * {@link #idleAfterMs} as a multiple of {@code youngMs}: images are pulled and models are read
   * before a pod begins its work.
   */
  private static final int IDLE_AFTER_TIMES_YOUNG = 10;

  /**
   * {@code youngMs} in half-lives of the mean of a pod's use; after that the use counts as known.
   */
  private static final double HALF_LIVES_YOUNG = 3;

  /** Returns the half-life of the mean of a pod's use. */
  public double halfLifeMs() {
    return youngMs / HALF_LIVES_YOUNG;
  }

  /** Returns how long a pod must have done nothing on its GPU to count as idle. */
  public long idleAfterMs() {
    return IDLE_AFTER_TIMES_YOUNG * youngMs;
  }

  /**
   * Returns the longest time for which measurements may not show all that a pod is going to use.
   */
  public long newcomerMs() {
    return idleAfterMs() + youngMs;
  }

  public Timing withYoungMs(long ms) {
    return new Timing(tentativeMs, unknownBindMs, tombstoneMs, nominatedMs, terminatingMs, ms);
  }
}
