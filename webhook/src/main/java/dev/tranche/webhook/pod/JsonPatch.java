package dev.tranche.webhook.pod;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** An RFC 6902 patch while it grows. Its "add" also replaces what is there. */
public final class JsonPatch {
  private final ArrayNode operations = JsonNodeFactory.instance.arrayNode();

  /**
   * @param path from the root, unescaped
   */
  public void add(JsonNode value, String... path) {
    operation("add", path).set("value", value);
  }

  public void add(String value, String... path) {
    operation("add", path).put("value", value);
  }

  /** Removes a value, which must exist. */
  public void remove(String... path) {
    operation("remove", path);
  }

  public boolean isEmpty() {
    return operations.isEmpty();
  }

  public ArrayNode operations() {
    return operations;
  }

  private ObjectNode operation(String name, String... path) {
    var pointer = new StringBuilder(64);
    for (String segment : path) {
      pointer.append('/').append(segment.replace("~", "~0").replace("/", "~1"));
    }
    return operations.addObject().put("op", name).put("path", pointer.toString());
  }
}
