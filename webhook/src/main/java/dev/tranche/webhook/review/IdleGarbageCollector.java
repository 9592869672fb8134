package dev.tranche.webhook.review;

/**
 * Runs a garbage collection while no requests arrive. A collection pauses the process for about 50
 * ms, and frees the memory that a burst of reviews and its JIT compilation used. Confined to one
 * event loop.
 */
final class IdleGarbageCollector {
  /** Controllers create pods in bursts. After a pause this long, the burst is over. */
  private static final long QUIET_MS = 4_000;

  /** Fewer reviews leave too little garbage to be worth a collection. */
  private static final int REVIEWS_MIN = 1_000;

  private final Runnable collection;
  private long lastMs;
  private int reviews;

  /**
   * @param collection runs a full garbage collection
   */
  IdleGarbageCollector(Runnable collection) {
    this.collection = collection;
  }

  /** Records that a review has arrived. */
  void recordReview(long nowMs) {
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
