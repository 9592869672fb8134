package dev.tranche.webhook.review;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits the memory that request bodies use while they are read, in total and per address. Confined
 * to one event loop, except {@link #bytes()}, which a gauge reads.
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

  /** The result of {@link #charge}. */
  enum ChargeResult {
    CHARGED,
    /** The address has reached its limit. */
    ADDRESS_FULL,
    FULL
  }

  ChargeResult charge(String address, long bodyBytes) {
    long ofAddress = byAddress.getOrDefault(address, 0L) + bodyBytes;
    if (ofAddress > addressBytesMax) {
      return ChargeResult.ADDRESS_FULL;
    }
    if (bytes.get() + bodyBytes > bytesMax) {
      return ChargeResult.FULL;
    }
    bytes.addAndGet(bodyBytes);
    byAddress.put(address, ofAddress);
    return ChargeResult.CHARGED;
  }

  void release(String address, long bodyBytes) {
    bytes.addAndGet(-bodyBytes);
    byAddress.computeIfPresent(address, (a, held) -> held == bodyBytes ? null : held - bodyBytes);
  }

  long bytes() {
    return bytes.get();
  }
}
