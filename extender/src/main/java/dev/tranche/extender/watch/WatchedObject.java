package dev.tranche.extender.watch;

/** Something of the API server, as much of it as we read. */
interface WatchedObject {
  /** Its name, after its namespace and a slash if it has one. */
  String key();

  String uid();

  String resourceVersion();

  /** False: it is not ours to remember, and its end is not told. */
  boolean matters();
}
