package dev.tranche.webhook.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigInteger;
import java.util.stream.StreamSupport;

/**
 * Whether a pod's nodeSelector and required node affinity admit a node, judged as kube-scheduler
 * does. Taints are judged apart ({@link Taints}): they come and go, and a pod may wait for that.
 */
public final class NodeSelection {
  private final JsonNode nodeSelector;
  private final JsonNode required;

  /**
   * @param podSpec of a pod, as JSON
   */
  public NodeSelection(JsonNode podSpec) {
    nodeSelector = podSpec.path("nodeSelector");
    required =
        podSpec
            .path("affinity")
            .path("nodeAffinity")
            .path("requiredDuringSchedulingIgnoredDuringExecution");
  }

  public boolean admits(GpuNode node) {
    boolean selected =
        nodeSelector
            .propertyStream()
            .allMatch(e -> e.getValue().asText("").equals(node.labels().get(e.getKey())));
    return selected && (!required.isObject() || any(required.path("nodeSelectorTerms"), node));
  }

  private static boolean any(JsonNode terms, GpuNode node) {
    return StreamSupport.stream(terms.spliterator(), false).anyMatch(term -> matches(term, node));
  }

  private static boolean matches(JsonNode term, GpuNode node) {
    JsonNode expressions = term.path("matchExpressions");
    JsonNode fields = term.path("matchFields");
    // An empty term matches nothing.
    if (expressions.isEmpty() && fields.isEmpty()) {
      return false;
    }
    for (JsonNode expression : expressions) {
      String value = node.labels().get(expression.path("key").asText(""));
      if (!holds(expression, value == null ? "" : value, value != null)) {
        return false;
      }
    }
    for (JsonNode field : fields) {
      boolean name = field.path("key").asText("").equals("metadata.name");
      if (!name || !holds(field, node.name(), true)) {
        return false;
      }
    }
    return true;
  }

  private static boolean holds(JsonNode requirement, String value, boolean present) {
    JsonNode values = requirement.path("values");
    return switch (requirement.path("operator").asText("")) {
      case "In" -> present && contains(values, value);
      case "NotIn" -> !present || !contains(values, value);
      case "Exists" -> present;
      case "DoesNotExist" -> !present;
      case "Gt" -> present && compare(value, values) > 0;
      case "Lt" -> present && compare(value, values) < 0;
      default -> false;
    };
  }

  private static boolean contains(JsonNode values, String value) {
    return StreamSupport.stream(values.spliterator(), false)
        .anyMatch(v -> v.asText("").equals(value));
  }

  /** 0, which satisfies neither Gt nor Lt, where either side is no number. */
  private static int compare(String value, JsonNode values) {
    String bound = values.path(0).asText("");
    boolean numbers = value.matches("-?\\d{1,19}") && bound.matches("-?\\d{1,19}");
    return numbers ? new BigInteger(value).compareTo(new BigInteger(bound)) : 0;
  }
}
