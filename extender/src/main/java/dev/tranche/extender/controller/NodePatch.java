package dev.tranche.extender.controller;

import io.vertx.core.json.JsonObject;
import java.util.Map;

/** A merge patch of a Node's labels and annotations. */
final class NodePatch {
  private NodePatch() {}

  /**
   * @param version that the Node must still have, or the API server refuses the patch; empty: any
   * @param labels to set; an empty value removes the label
   * @param annotations likewise
   */
  static String of(String version, Map<String, String> labels, Map<String, String> annotations) {
    var meta =
        new JsonObject().put("labels", nullable(labels)).put("annotations", nullable(annotations));
    if (!version.isEmpty()) {
      meta.put("resourceVersion", version);
    }
    return new JsonObject().put("metadata", meta).encode();
  }

  private static JsonObject nullable(Map<String, String> values) {
    var json = new JsonObject();
    values.forEach((key, value) -> json.put(key, value.isEmpty() ? null : value));
    return json;
  }
}
