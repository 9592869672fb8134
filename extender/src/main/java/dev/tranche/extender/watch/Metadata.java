package dev.tranche.extender.watch;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What we read of an object's metadata, of any kind but Pod. */
record Metadata(
    String name,
    @Nullable String namespace,
    String uid,
    String resourceVersion,
    Map<String, String> labels,
    Map<String, String> annotations) {
  Metadata {
    uid = Objects.requireNonNullElse(uid, "");
    resourceVersion = Objects.requireNonNullElse(resourceVersion, "");
    labels = Objects.requireNonNullElse(labels, Map.of());
    annotations = Objects.requireNonNullElse(annotations, Map.of());
  }

  /** Returns {@code namespace/name}, or the name alone if the object has no namespace. */
  String key() {
    return namespace == null ? name : namespace + "/" + name;
  }
}
