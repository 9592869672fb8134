package dev.tranche.extender.ledger;

/**
 * The Ledger's patience.
 *
 * @param tentativeMs a hold that is not bound by then is dropped: longer than kube-scheduler takes
 *     from prioritize to bind, permit and volume binding included
 * @param unknownBindMs a binding that the API server may have accepted, and that no informer has
 *     shown by then, is checked with the API server; no request of a replica that has died lasts
 *     longer
 * @param tombstoneMs for so long the events of a pod that is gone may come late
 * @param nominatedMs a nominated pod's GPU is held for so long: longer than most victims take to
 *     end
 * @param leavingMs a pod that terminates for longer than this may never end
 * @param youngMs for so long after it began its work a pod may not be seen in its GPU's mean load
 */
public record Timing(
    long tentativeMs,
    long unknownBindMs,
    long tombstoneMs,
    long nominatedMs,
    long leavingMs,
    long youngMs) {
  public static final Timing DEFAULT = new Timing(30_000, 60_000, 15_000, 600_000, 60_000, 30_000);

  /** Images are pulled and models are read before a pod begins its work. */
  private static final int LATE_TIMES_YOUNG = 10;

  /** A pod is known for long enough when the mean of its use has forgotten half that often. */
  private static final double HALF_LIVES_YOUNG = 3;

  /** In that time the mean of what a pod uses forgets half. */
  public double halfLifeMs() {
    return youngMs / HALF_LIVES_YOUNG;
  }

  /** A pod on a GPU that has done nothing there for so long is known to do nothing. */
  public long lateMs() {
    return LATE_TIMES_YOUNG * youngMs;
  }

  /** For so long at most what is measured may not show all that a pod is going to use. */
  public long newcomerMs() {
    return lateMs() + youngMs;
  }

  public Timing withYoungMs(long ms) {
    return new Timing(tentativeMs, unknownBindMs, tombstoneMs, nominatedMs, leavingMs, ms);
  }
}
