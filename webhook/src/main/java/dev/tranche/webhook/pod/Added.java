package dev.tranche.webhook.pod;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Names;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * What the webhook has added to a pod's spec and cannot be told from its owner's words. The pod's
 * annotation has it.
 *
 * @param requirements of its node affinity
 * @param schedulerName empty if its owner named one
 */
public record Added(Set<JsonNode> requirements, String schedulerName) {
  public static final Added NOTHING = new Added(Set.of(), "");

  /** A tree of so many characters takes some 3 MB. */
  private static final int CHARS_MAX = 64 << 10;

  private static final ObjectMapper JSON = new ObjectMapper();

  public static Added of(PodView pod) {
    String text = pod.annotations().get(Names.ADDED);
    if (text == null || text.length() > CHARS_MAX) {
      return NOTHING;
    }
    try {
      JsonNode added = JSON.readTree(text);
      var requirements = new LinkedHashSet<JsonNode>();
      added.path("requirements").forEach(requirements::add);
      return new Added(requirements, PodView.text(added, "schedulerName"));
    } catch (JsonProcessingException notOurs) {
      return NOTHING;
    }
  }

  /** As the annotation has it; empty if there is nothing. */
  public Optional<String> text() {
    ObjectNode added = JSON.createObjectNode();
    if (!requirements.isEmpty()) {
      added.putArray("requirements").addAll(requirements);
    }
    if (!schedulerName.isEmpty()) {
      added.put("schedulerName", schedulerName);
    }
    return added.isEmpty() ? Optional.empty() : Optional.of(added.toString());
  }

  /** Removes the requirements of some labels from the affinity of a pod, which it changes. */
  void removeFrom(JsonNode affinity, Predicate<String> labels) {
    Predicate<JsonNode> removed =
        expression ->
            requirements.contains(expression) && labels.test(PodView.text(expression, "key"));
    boolean anyNode = false;
    for (JsonNode term : PodView.requiredTerms(affinity)) {
      if (term.path("matchExpressions") instanceof ArrayNode expressions
          && !expressions.isEmpty()
          && expressions.removeIf(removed).isEmpty()) {
        ((ObjectNode) term).remove("matchExpressions");
        anyNode |= term.isEmpty();
      }
    }
    if (anyNode) {
      // The owner's pod goes to any node, whereas an empty term matches none.
      PodView.object(affinity, "nodeAffinity").remove(PodView.REQUIRED);
    }
  }
}
