package dev.tranche.webhook;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** Adds to what a pod already requires of its node. */
final class Affinity {
  private Affinity() {}

  /** Terms are alternatives, so each one is narrowed; an empty one admits nothing, and stays so. */
  static void require(JsonNode spec, String label, String value, JsonPatch patch) {
    ObjectNode affinity =
        spec.path("affinity") instanceof ObjectNode object
            ? object.deepCopy()
            : JsonNodeFactory.instance.objectNode();
    ObjectNode required =
        child(child(affinity, "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution");
    ArrayNode terms =
        required.path("nodeSelectorTerms") instanceof ArrayNode array
            ? array
            : required.putArray("nodeSelectorTerms");
    if (terms.isEmpty()) {
      terms.addObject().putArray("matchExpressions").add(expression(label, value));
    } else {
      for (JsonNode term : terms) {
        narrow(term, expression(label, value));
      }
    }
    patch.add(affinity, "spec", "affinity");
  }

  private static void narrow(JsonNode term, ObjectNode expression) {
    boolean empty = term.path("matchExpressions").isEmpty() && term.path("matchFields").isEmpty();
    if (term instanceof ObjectNode object && !empty) {
      ArrayNode expressions =
          object.path("matchExpressions") instanceof ArrayNode array
              ? array
              : object.putArray("matchExpressions");
      expressions.add(expression);
    }
  }

  private static ObjectNode expression(String label, String value) {
    ObjectNode expression = JsonNodeFactory.instance.objectNode();
    expression.put("key", label).put("operator", "In").putArray("values").add(value);
    return expression;
  }

  private static ObjectNode child(ObjectNode parent, String field) {
    return parent.path(field) instanceof ObjectNode object ? object : parent.putObject(field);
  }
}
