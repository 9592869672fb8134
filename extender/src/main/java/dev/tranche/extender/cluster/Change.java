package dev.tranche.extender.cluster;

import java.util.List;

/** What a watch says. */
sealed interface Change<T extends Shown> {
  record Seen<T extends Shown>(T item) implements Change<T> {}

  record Gone<T extends Shown>(T item) implements Change<T> {}

  /** Nothing has changed up to here. */
  record Bookmark<T extends Shown>(String resourceVersion) implements Change<T> {}

  /** The watch is over. */
  record Ended<T extends Shown>(int code, String message) implements Change<T> {}

  /**
   * A part of a list.
   *
   * @param next where the next part begins; empty: this is the last
   */
  record Page<T extends Shown>(List<T> items, String resourceVersion, String next) {}
}
