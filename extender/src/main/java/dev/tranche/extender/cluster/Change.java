package dev.tranche.extender.cluster;

import java.util.List;

/** What a watch says. */
sealed interface Change<T extends Shown> {
  record Seen<T extends Shown>(T item) implements Change<T> {}

  record Gone<T extends Shown>(T item) implements Change<T> {}

  /** Nothing has changed up to here. */
  record Bookmark<T extends Shown>(String resourceVersion) implements Change<T> {}

  /**
   * An object that cannot be read; it is no reason to read no other.
   *
   * @param key empty: that neither
   */
  record Unread<T extends Shown>(String key, String why, boolean gone) implements Change<T> {}

  /** The watch is over. */
  record Ended<T extends Shown>(int code, String message) implements Change<T> {}

  /**
   * A part of a list.
   *
   * @param unread those beside {@code items} that cannot be read
   * @param next where the next part begins; empty: this is the last
   */
  record Page<T extends Shown>(
      List<T> items, List<Unread<T>> unread, String resourceVersion, String next) {}
}
