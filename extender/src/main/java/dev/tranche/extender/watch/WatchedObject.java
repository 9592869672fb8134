package dev.tranche.extender.watch;

/** An object of the API server, reduced to the fields that we read. */
interface WatchedObject {
  /** Returns {@code namespace/name}, or the name alone if the object has no namespace. */
  String key();

  String uid();

  /** Whether the object is tracked; if false, its deletion isn't reported. */
  default boolean tracked() {
    return true;
  }
}
