package dev.tranche.extender.watch;

import java.util.List;

/** An event of a watch. */
sealed interface WatchEvent<T extends WatchedObject> {
  record Seen<T extends WatchedObject>(T item) implements WatchEvent<T> {}

  record Gone<T extends WatchedObject>(T item) implements WatchEvent<T> {}

  /** Nothing has changed up to here. */
  record Bookmark<T extends WatchedObject>(String resourceVersion) implements WatchEvent<T> {}

  /**
   * An object that can't be read. It must not stop the reading of others.
   *
   * @param key empty if that can't be read either
   */
  record Undecodable<T extends WatchedObject>(String key, String why, boolean gone)
      implements WatchEvent<T> {}

  /** The watch is over. */
  record Ended<T extends WatchedObject>(int code, String message) implements WatchEvent<T> {}

  /**
   * A page of a list.
   *
   * @param undecodable objects besides {@code items} that can't be read
   * @param next the continue token of the next page; empty: this is the last
   */
  record Page<T extends WatchedObject>(
      List<T> items, List<Undecodable<T>> undecodable, String resourceVersion, String next) {}
}
