package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.SizeLimits;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;

/** The required node affinity of a pod, to which requirements are added. */
final class RequiredNodeAffinity {
  private final JsonNode spec;
  private final ObjectNode affinity;
  private final Set<JsonNode> added;

  /**
   * @param pod the owner's, into which it is written at the end: until then nodes are chosen by
   *     what the owner requires
   * @param before what was added when the pod was admitted before
   */
  RequiredNodeAffinity(PodView pod, Added before) {
    spec = pod.spec();
    added = new LinkedHashSet<>(before.requirements());
    affinity =
        spec.path("affinity") instanceof ObjectNode object
            ? object.deepCopy()
            : JsonNodeFactory.instance.objectNode();
  }

  /**
   * Adds a requirement to each term, since terms are alternatives. An empty term matches no node,
   * and stays empty.
   *
   * @param operator {@code In}, {@code NotIn} or {@code Gt}
   */
  void require(String label, String operator, Collection<String> values) {
    ArrayNode terms = terms();
    ObjectNode expression = expression(label, operator, values);
    if (terms.valueStream().noneMatch(term -> has(term, expression))) {
      added.add(expression);
    }
    if (terms.isEmpty()) {
      terms.addObject().putArray("matchExpressions").add(expression);
    } else {
      for (JsonNode term : terms) {
        narrow(term, expression);
      }
    }
  }

  /**
   * Writes the affinity into the pod. Returns whether the pod is denied, since the affinity has
   * become too large: it would not be admitted again, as a later webhook may cause.
   */
  boolean write(Messages messages) {
    if (!affinity.isEmpty() && spec instanceof ObjectNode object) {
      object.set("affinity", affinity);
    }
    return SizeLimits.denyManyExpressions(spec, affinity, messages);
  }

  /** Returns the requirements that the owner does not have. */
  Set<JsonNode> added() {
    JsonNode terms = PodView.requiredTerms(affinity);
    added.removeIf(each -> terms.valueStream().noneMatch(term -> has(term, each)));
    return added;
  }

  private ArrayNode terms() {
    ObjectNode required =
        PodView.object(PodView.object(affinity, "nodeAffinity"), PodView.REQUIRED);
    return required.path("nodeSelectorTerms") instanceof ArrayNode array
        ? array
        : required.putArray("nodeSelectorTerms");
  }

  private static boolean matchesNothing(JsonNode term) {
    return term.path("matchExpressions").isEmpty() && term.path("matchFields").isEmpty();
  }

  private static boolean has(JsonNode term, JsonNode expression) {
    return term.path("matchExpressions").valueStream().anyMatch(expression::equals);
  }

  private static void narrow(JsonNode term, ObjectNode expression) {
    if (term instanceof ObjectNode object && !matchesNothing(term) && !has(term, expression)) {
      ArrayNode expressions =
          object.path("matchExpressions") instanceof ArrayNode array
              ? array
              : object.putArray("matchExpressions");
      expressions.add(expression);
    }
  }

  private static ObjectNode expression(String label, String operator, Collection<String> values) {
    ObjectNode expression =
        JsonNodeFactory.instance.objectNode().put("key", label).put("operator", operator);
    if (!values.isEmpty()) {
      // The API server keeps no empty list, and our own result must look the same when it returns.
      ArrayNode array = expression.putArray("values");
      values.forEach(array::add);
    }
    return expression;
  }
}
