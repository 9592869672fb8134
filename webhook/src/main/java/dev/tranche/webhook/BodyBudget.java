package dev.tranche.webhook;

import java.util.concurrent.atomic.AtomicLong;

/** How many bytes of bodies may be in memory at once, as they have come in. */
final class BodyBudget {
  private final long bytesMax;
  private final AtomicLong bytes = new AtomicLong();

  BodyBudget(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /**
   * @return whether they fit; if not, nothing was taken
   */
  boolean take(long bodyBytes) {
    if (bytes.addAndGet(bodyBytes) <= bytesMax) {
      return true;
    }
    bytes.addAndGet(-bodyBytes);
    return false;
  }

  void giveBack(long bodyBytes) {
    bytes.addAndGet(-bodyBytes);
  }

  long bytes() {
    return bytes.get();
  }
}
