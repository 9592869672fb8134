package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.nodes.DecidingLabel;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.SizeLimits;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The required node affinity of a pod, to which requirements are added. */
final class NodeAffinityPatch {
  private static final int DOUBLED_MAX = 16;
  private static final String REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

  private final JsonNode spec;
  private final JsonNode before;
  private final ObjectNode affinity;
  private final Set<JsonNode> added;

  /**
   * @param owners has the pod as it arrived, to which the patch applies
   * @param pod the owner's, as it is translated
   */
  NodeAffinityPatch(OwnersPod owners, PodView pod) {
    spec = pod.spec();
    before = owners.arrived().spec().path("affinity");
    added = new LinkedHashSet<>(owners.added().requirements());
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
    record(terms, expression);
    if (terms.isEmpty()) {
      terms.addObject().putArray("matchExpressions").add(expression);
    } else {
      for (JsonNode term : terms) {
        narrow(term, expression);
      }
    }
  }

  /**
   * Requires a value of the label that decides. A node without ours needs NVIDIA's, so each term
   * becomes two. A term that requires either already stays as it is. Terms that would be too large
   * twice to be admitted again are not doubled, and ours alone is required.
   */
  void require(DecidingLabel label, String value) {
    ObjectNode ours = expression(label.ours(), "In", List.of(value));
    ObjectNode nvidias = expression(label.nvidias(), "In", List.of(value));
    ObjectNode none = expression(label.ours(), "DoesNotExist", List.of());
    ArrayNode terms = terms();
    List.of(ours, nvidias, none).forEach(expression -> record(terms, expression));
    if (terms.isEmpty()) {
      terms.addObject().putArray("matchExpressions").add(ours);
      terms.addObject().putArray("matchExpressions").add(none).add(nvidias);
      return;
    }
    List<JsonNode> alternatives = terms.valueStream().toList();
    if (alternatives.size() > DOUBLED_MAX) {
      alternatives.forEach(term -> narrow(term, ours));
      return;
    }
    terms.removeAll();
    for (JsonNode term : alternatives) {
      boolean required = has(term, ours) || (has(term, none) && has(term, nvidias));
      JsonNode first = term.deepCopy();
      terms.add(first);
      if (!required && !matchesNothing(term)) {
        JsonNode second = term.deepCopy();
        narrow(first, ours);
        narrow(second, none);
        narrow(second, nvidias);
        terms.add(second);
      }
    }
    if (SizeLimits.tooMany(spec, affinity).isPresent()) {
      alternatives.forEach(term -> narrow(term, ours));
      terms.removeAll().addAll(alternatives);
    }
  }

  /**
   * Adds the affinity to the patch if it has changed.
   *
   * @return the problem, if it has become too large: the pod would not be admitted again, as a
   *     later webhook may cause
   */
  Optional<Problem> write(JsonPatch patch) {
    boolean nothing = affinity.isEmpty() && before.isEmpty();
    if (nothing || affinity.equals(before)) {
      return Optional.empty();
    }
    patch.add(affinity, "spec", "affinity");
    return SizeLimits.tooMany(spec, affinity);
  }

  /** Returns the requirements that the owner does not have. */
  Set<JsonNode> added() {
    JsonNode terms = affinity.path("nodeAffinity").path(REQUIRED).path("nodeSelectorTerms");
    added.removeIf(each -> terms.valueStream().noneMatch(term -> has(term, each)));
    return added;
  }

  private void record(ArrayNode terms, ObjectNode expression) {
    if (terms.valueStream().noneMatch(term -> has(term, expression))) {
      added.add(expression);
    }
  }

  private ArrayNode terms() {
    ObjectNode required = child(child(affinity, "nodeAffinity"), REQUIRED);
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

  private static ObjectNode child(ObjectNode parent, String field) {
    return parent.path(field) instanceof ObjectNode object ? object : parent.putObject(field);
  }
}
