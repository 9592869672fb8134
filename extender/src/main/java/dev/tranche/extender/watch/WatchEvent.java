package dev.tranche.extender.watch;

import java.util.List;

/** What a watch says. */
sealed interface WatchEvent<T extends WatchedObject> {
  record Seen<T extends WatchedObject>(T item) implements WatchEvent<T> {}

  record Gone<T extends WatchedObject>(T item) implements WatchEvent<T> {}

  /** Nothing has changed up to here. */
  record Bookmark<T extends WatchedObject>(String resourceVersion) implements WatchEvent<T> {}

  /**
   * An object that cannot be read; it is no reason to read no other.
   *
   * @param key empty: that neither
   */
  record Unread<T extends WatchedObject>(String key, String why, boolean gone)
      implements WatchEvent<T> {}

  /** The watch is over. */
  record Ended<T extends WatchedObject>(int code, String message) implements WatchEvent<T> {}

  /**
   * A part of a list.
   *
   * @param unread those beside {@code items} that cannot be read
   * @param next where the next part begins; empty: this is the last
   */
  record Page<T extends WatchedObject>(
      List<T> items, List<Unread<T>> unread, String resourceVersion, String next) {}
}
