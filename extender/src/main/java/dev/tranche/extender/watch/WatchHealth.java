package dev.tranche.extender.watch;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.Counter;
import java.util.function.LongSupplier;

/**
 * Tells whether the watch of one kind is up to date. A connection can die unnoticed. Bookmarks
 * arrive about once a minute even when nothing changes, so their absence shows it. Written and read
 * on any thread.
 */
final class WatchHealth {
  /** Two bookmarks have been missed by then. */
  static final long SILENCE_MS_MAX = 150_000;

  private final LongSupplier clockMs;
  final Counter failures;
  final Counter undecodable;
  private volatile long lastEventMs;

  /** Whether bookmarks arrive. Without them, a quiet watch may still be alive. */
  private volatile boolean bookmarks;

  /**
   * @param kind such as {@code pods}
   */
  WatchHealth(String kind, ExtenderMetrics metrics, LongSupplier clockMs) {
    this.clockMs = clockMs;
    lastEventMs = clockMs.getAsLong();
    failures =
        metrics.counter(
            "tranche.extender.watch.failures",
            "Lists and watches of the API server that failed or fell silent and are restarted.",
            "kind",
            kind);
    undecodable =
        metrics.counter(
            "tranche.extender.watch.unread",
            "Objects of the API server that were skipped because they could not be read.",
            "kind",
            kind);
    metrics.gauge(
        "tranche.extender.watch.age.seconds",
        "Time since the API server last sent something about this kind; a minute or so is normal.",
        () -> ageMs() / 1_000.0,
        "kind",
        kind);
  }

  void eventReceived() {
    lastEventMs = clockMs.getAsLong();
  }

  void bookmark() {
    bookmarks = true;
    eventReceived();
  }

  boolean lost() {
    return bookmarks && ageMs() > SILENCE_MS_MAX;
  }

  private long ageMs() {
    return clockMs.getAsLong() - lastEventMs;
  }
}
