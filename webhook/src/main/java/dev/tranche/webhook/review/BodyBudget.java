package dev.tranche.webhook.review;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How many bytes bodies may take of memory at once while they come in: in all, and from one
 * address. Of one event loop, but for the gauge.
 */
final class BodyBudget {
  private final long bytesMax;
  private final long addressBytesMax;
  private final AtomicLong bytes = new AtomicLong();
  private final Map<String, Long> byAddress = new HashMap<>();

  BodyBudget(long bytesMax, long addressBytesMax) {
    this.bytesMax = bytesMax;
    this.addressBytesMax = addressBytesMax;
  }

  /** What came of asking for room. */
  enum Room {
    TAKEN,
    /** This address has its part. */
    ADDRESS_FULL,
    FULL
  }

  Room take(String address, long bodyBytes) {
    long ofAddress = byAddress.getOrDefault(address, 0L) + bodyBytes;
    if (ofAddress > addressBytesMax) {
      return Room.ADDRESS_FULL;
    }
    if (bytes.get() + bodyBytes > bytesMax) {
      return Room.FULL;
    }
    bytes.addAndGet(bodyBytes);
    byAddress.put(address, ofAddress);
    return Room.TAKEN;
  }

  void giveBack(String address, long bodyBytes) {
    bytes.addAndGet(-bodyBytes);
    byAddress.computeIfPresent(address, (a, held) -> held == bodyBytes ? null : held - bodyBytes);
  }

  long bytes() {
    return bytes.get();
  }
}
