package dev.tranche.webhook;

/**
 * How many bytes of bodies may be in memory at once. One event loop uses it, so the field needs no
 * lock; the metric may read an old value.
 */
final class BodyBudget {
  private final long bytesMax;
  private volatile long bytes;

  BodyBudget(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** A single body is taken however large; its own bound is the server's. */
  @SuppressWarnings("NonAtomicVolatileUpdate")
  boolean take(long bodyBytes) {
    if (bytes > 0 && bytes + bodyBytes > bytesMax) {
      return false;
    }
    bytes += bodyBytes;
    return true;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate")
  void giveBack(long bodyBytes) {
    bytes -= bodyBytes;
  }

  long bytes() {
    return bytes;
  }
}
