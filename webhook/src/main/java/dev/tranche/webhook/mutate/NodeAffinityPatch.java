package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.pod.JsonPatch;
import java.util.Collection;

/** The required node affinity of a pod, to which requirements are added. */
final class NodeAffinityPatch {
  private final JsonNode before;
  private final ObjectNode affinity;

  /**
   * @param originalSpec the pod's spec as it arrived, to which the patch applies
   * @param podSpec the same spec without the requirements that no longer hold
   */
  NodeAffinityPatch(JsonNode originalSpec, JsonNode podSpec) {
    before = originalSpec.path("affinity");
    affinity =
        podSpec.path("affinity") instanceof ObjectNode object
            ? object.deepCopy()
            : JsonNodeFactory.instance.objectNode();
  }

  /**
   * Adds a requirement to each term, since terms are alternatives. An empty term matches no node,
   * and stays empty.
   *
   * @param operator {@code In} or {@code NotIn}
   */
  void require(String label, String operator, Collection<String> values) {
    ObjectNode required =
        child(child(affinity, "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution");
    ArrayNode terms =
        required.path("nodeSelectorTerms") instanceof ArrayNode array
            ? array
            : required.putArray("nodeSelectorTerms");
    ObjectNode expression = expression(label, operator, values);
    if (terms.isEmpty()) {
      terms.addObject().putArray("matchExpressions").add(expression);
    } else {
      for (JsonNode term : terms) {
        narrow(term, expression);
      }
    }
  }

  /** Adds the affinity to the patch if it has changed. */
  void write(JsonPatch patch) {
    boolean nothing = affinity.isEmpty() && before.isEmpty();
    if (!nothing && !affinity.equals(before)) {
      patch.add(affinity, "spec", "affinity");
    }
  }

  private static void narrow(JsonNode term, ObjectNode expression) {
    boolean empty = term.path("matchExpressions").isEmpty() && term.path("matchFields").isEmpty();
    if (term instanceof ObjectNode object && !empty) {
      ArrayNode expressions =
          object.path("matchExpressions") instanceof ArrayNode array
              ? array
              : object.putArray("matchExpressions");
      if (expressions.valueStream().noneMatch(expression::equals)) {
        expressions.add(expression);
      }
    }
  }

  private static ObjectNode expression(String label, String operator, Collection<String> values) {
    ObjectNode expression = JsonNodeFactory.instance.objectNode();
    ArrayNode array = expression.put("key", label).put("operator", operator).putArray("values");
    values.forEach(array::add);
    return expression;
  }

  private static ObjectNode child(ObjectNode parent, String field) {
    return parent.path(field) instanceof ObjectNode object ? object : parent.putObject(field);
  }
}
