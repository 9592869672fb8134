package dev.tranche.extender.watch;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.Counter;
import java.util.function.LongSupplier;

/**
 * Whether what we see of one kind is of now. A connection can die without a word; bookmarks come
 * about once a minute even when nothing changes, so their absence tells. Written and read on any
 * thread.
 */
final class WatchHealth {
  /** Two bookmarks have been missed by then. */
  static final long SILENCE_MS_MAX = 150_000;

  private final LongSupplier clockMs;
  private final Counter failures;
  private final Counter unread;
  private volatile long heardAtMs;

  /** Without them silence says nothing. */
  private volatile boolean bookmarks;

  /**
   * @param kind such as {@code pods}
   */
  WatchHealth(String kind, ExtenderMetrics metrics, LongSupplier clockMs) {
    this.clockMs = clockMs;
    heardAtMs = clockMs.getAsLong();
    failures =
        metrics.counter(
            "tranche.extender.watch.failures",
            "Lists and watches of the API server that failed or fell silent and are begun anew.",
            "kind",
            kind);
    unread =
        metrics.counter(
            "tranche.extender.watch.unread",
            "Objects of the API server that were passed over because they could not be read.",
            "kind",
            kind);
    metrics.gauge(
        "tranche.extender.watch.age.seconds",
        "Time since the API server last said something about this kind; a minute or so is usual.",
        "kind",
        kind,
        () -> ageMs() / 1_000.0);
  }

  void heard() {
    heardAtMs = clockMs.getAsLong();
  }

  void bookmark() {
    bookmarks = true;
    heard();
  }

  void failed() {
    failures.increment();
  }

  void unread() {
    unread.increment();
  }

  boolean lost() {
    return bookmarks && ageMs() > SILENCE_MS_MAX;
  }

  private long ageMs() {
    return clockMs.getAsLong() - heardAtMs;
  }
}
