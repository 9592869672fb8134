package dev.tranche.webhook.pod;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;

/** An RFC 6902 patch while it grows. Its "add" also replaces what is there. */
public final class JsonPatch {
  private final ArrayNode operations = JsonNodeFactory.instance.arrayNode();

  /** Returns the patch that makes one pod of the other. */
  public static JsonPatch between(JsonNode before, JsonNode after) {
    var patch = new JsonPatch();
    patch.compare(before, after);
    return patch;
  }

  private void compare(JsonNode before, JsonNode after, String... path) {
    if (before.isObject() && after.isObject()) {
      Stream.concat(before.propertyStream(), after.propertyStream())
          .map(Map.Entry::getKey)
          .distinct()
          .forEach(name -> compare(before.path(name), after.path(name), below(path, name)));
    } else if (haveObjects(before, after)) {
      for (int i = 0; i < before.size(); i++) {
        compare(before.path(i), after.path(i), below(path, String.valueOf(i)));
      }
    } else if (after.isMissingNode()) {
      remove(path);
    } else if (!before.equals(after)) {
      add(after, path);
    }
  }

  /** Whether both are lists of as many objects: an "add" cannot replace an element of a list. */
  private static boolean haveObjects(JsonNode before, JsonNode after) {
    return before.isArray()
        && after.isArray()
        && before.size() == after.size()
        && Stream.concat(before.valueStream(), after.valueStream()).allMatch(JsonNode::isObject);
  }

  private static String[] below(String[] path, String name) {
    String[] below = Arrays.copyOf(path, path.length + 1);
    below[path.length] = name;
    return below;
  }

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
