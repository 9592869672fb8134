package dev.tranche.extender.http;

import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;

/**
 * Limits how many scrapes are answered at once. Anyone who reaches the port may scrape, and may
 * read slowly. So a scrape that has waited long for its reader loses its place to the next one.
 */
final class ScrapePlaces {
  /** Each Prometheus sends one at a time. */
  static final int AT_ONCE_MAX = 2;

  /** A Prometheus takes each piece at once. */
  static final long STALLED_MS_MAX = 2_000;

  /** A scrape that is being answered. */
  interface Scrape {
    /** Returns for how long it has waited in total for its reader to take what it was sent. */
    long stalledMs();

    /** Ends it and disconnects its reader. */
    void abort();
  }

  private final Set<Scrape> running = new LinkedHashSet<>();

  /** Gives a place to a scrape and returns true, or returns false if none is free. */
  synchronized boolean tryAcquire(Scrape scrape) {
    if (running.size() >= AT_ONCE_MAX) {
      Optional<Scrape> stalled =
          running.stream()
              .filter(other -> other.stalledMs() > STALLED_MS_MAX)
              .max(Comparator.comparingLong(Scrape::stalledMs));
      if (stalled.isEmpty()) {
        return false;
      }
      running.remove(stalled.get());
      stalled.get().abort();
    }
    return running.add(scrape);
  }

  /** Frees the place of a scrape that has ended, if it still has one. */
  synchronized void release(Scrape scrape) {
    running.remove(scrape);
  }
}
