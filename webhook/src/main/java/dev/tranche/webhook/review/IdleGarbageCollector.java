package dev.tranche.webhook.review;

/**
 * Collects garbage in moments without requests. A collection stops everything for some 50 ms, and
 * gives back the memory that a burst of reviews and their compilation took. Of one event loop.
 */
final class IdleGarbageCollector {
  /** Controllers make pods in bursts; behind one this long comes no more of it. */
  private static final long QUIET_MS = 4_000;

  /** Fewer leave nothing that would be worth it. */
  private static final int REVIEWS_MIN = 1_000;

  private final Runnable collection;
  private long lastMs;
  private int reviews;

  /**
   * @param collection of all garbage
   */
  IdleGarbageCollector(Runnable collection) {
    this.collection = collection;
  }

  /** A review has come. */
  void interrupted(long nowMs) {
    lastMs = nowMs;
    reviews++;
  }

  void sweep(long nowMs) {
    if (reviews >= REVIEWS_MIN && nowMs - lastMs >= QUIET_MS) {
      reviews = 0;
      collection.run();
    }
  }
}
