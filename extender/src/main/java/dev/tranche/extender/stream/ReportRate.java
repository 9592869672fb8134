package dev.tranche.extender.stream;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Limits how fast one node may report, across its successive streams. The limits are far above what
 * a node needs, since its kubelet admits one pod after the other. Each address that the node's
 * token is used from has a share of its own, and all of them share the rest. So whoever has stolen
 * the token and reports without end does not silence the node. Time is a parameter.
 */
final class ReportRate {
  static final int MESSAGES_PER_S = 100;
  static final int MESSAGES_BURST = 1_000;
  static final int BYTES_PER_S = 8 << 20;
  static final int BYTES_BURST = 32 << 20;

  /** Of each address: a whole report of any size, and then more than a node at work sends. */
  static final int OWN_MESSAGES_PER_S = 10;

  static final int OWN_MESSAGES_BURST = 100;
  static final int OWN_BYTES_PER_S = 1 << 20;
  static final int OWN_BYTES_BURST = 4 << 20;

  /** Addresses of one node with a share of their own; those that came first keep it. */
  static final int ADDRESSES_MAX = 4;

  /** After this time without a report an address loses its share, if another one needs it. */
  static final long UNUSED_MS = 60_000;

  private final Allowance shared;
  private final List<Own> own = new ArrayList<>(1);

  private record Own(String address, Allowance allowance) {}

  ReportRate(long nowMs) {
    shared = new Allowance(MESSAGES_BURST, MESSAGES_PER_S, BYTES_BURST, BYTES_PER_S, nowMs);
  }

  /**
   * Takes a report into account.
   *
   * @param address where it is from
   * @return why it comes too soon, as a sentence
   */
  Optional<String> take(String address, int size, long nowMs) {
    Allowance ofAddress = own(address, nowMs);
    if ((ofAddress != null && ofAddress.tryTake(size, nowMs)) || shared.tryTake(size, nowMs)) {
      return Optional.empty();
    }
    return Optional.of(
        "the node reports too fast: allowed are %d reports and %d bytes a second, and %d reports and %d bytes at once"
            .formatted(MESSAGES_PER_S, BYTES_PER_S, MESSAGES_BURST, BYTES_BURST));
  }

  private @Nullable Allowance own(String address, long nowMs) {
    for (Own each : own) {
      if (each.address().equals(address)) {
        return each.allowance();
      }
    }
    if (own.size() >= ADDRESSES_MAX
        && !own.removeIf(each -> nowMs - each.allowance().lastMs >= UNUSED_MS)) {
      return null;
    }
    var first =
        new Allowance(
            OWN_MESSAGES_BURST, OWN_MESSAGES_PER_S, OWN_BYTES_BURST, OWN_BYTES_PER_S, nowMs);
    own.add(new Own(address, first));
    return first;
  }

  /** Whether all allowances are full again, so that this object can be dropped. */
  boolean isRefilled(long nowMs) {
    return shared.isRefilled(nowMs)
        && own.stream().allMatch(each -> each.allowance().isRefilled(nowMs));
  }

  /** Reports and bytes that may come at once, and how fast that is refilled. */
  private static final class Allowance {
    private final int messagesBurst;
    private final int messagesPerS;
    private final int bytesBurst;
    private final int bytesPerS;
    private double messages;
    private double bytes;

    /** Until when it is refilled. */
    private long refilledMs;

    /** When something was last asked of it. */
    private long lastMs;

    Allowance(int messagesBurst, int messagesPerS, int bytesBurst, int bytesPerS, long nowMs) {
      this.messagesBurst = messagesBurst;
      this.messagesPerS = messagesPerS;
      this.bytesBurst = bytesBurst;
      this.bytesPerS = bytesPerS;
      messages = messagesBurst;
      bytes = bytesBurst;
      refilledMs = nowMs;
      lastMs = nowMs;
    }

    boolean tryTake(int size, long nowMs) {
      refill(nowMs);
      lastMs = nowMs;
      if (messages < 1 || bytes < size) {
        return false;
      }
      messages--;
      bytes -= size;
      return true;
    }

    boolean isRefilled(long nowMs) {
      refill(nowMs);
      return messages >= messagesBurst && bytes >= bytesBurst;
    }

    private void refill(long nowMs) {
      double seconds = Math.max(0, nowMs - refilledMs) / 1_000.0;
      refilledMs = Math.max(refilledMs, nowMs);
      messages = Math.min(messagesBurst, messages + seconds * messagesPerS);
      bytes = Math.min(bytesBurst, bytes + seconds * bytesPerS);
    }
  }
}
