package dev.tranche.extender.watch;

import java.util.Map;

/** What we read of an object's metadata, of any kind but Pod; absent fields are empty. */
record Metadata(
    String name,
    String namespace,
    String uid,
    String resourceVersion,
    Map<String, String> labels,
    Map<String, String> annotations) {
  /** Returns {@code namespace/name}, or the name alone if the object has no namespace. */
  String key() {
    return namespace.isEmpty() ? name : namespace + "/" + name;
  }
}
