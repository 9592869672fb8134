package dev.tranche.webhook.nodes;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.LabelOperator;
import dev.tranche.webhook.pod.PodView;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a pod's nodeSelector and required node affinity admit a node, as kube-scheduler
 * does. Taints are checked separately ({@link Taints}): they come and go, and a pod may wait for
 * that. The terms are parsed once, since thousands of nodes are checked against them. Not
 * thread-safe.
 */
public final class NodeSelection {
  private final List<Requirement> nodeSelector = new ArrayList<>();

  /** Null where none is required. */
  private final @Nullable List<List<Requirement>> terms;

  /**
   * @param podSpec of a pod, as JSON
   */
  public NodeSelection(JsonNode podSpec) {
    podSpec
        .path("nodeSelector")
        .forEachEntry(
            (key, value) ->
                nodeSelector.add(
                    new Requirement(
                        false, key, "In", Set.of(value.asText("")), LabelOperator.NO_NUMBER)));
    JsonNode required = PodView.requiredTerms(podSpec.path("affinity"));
    terms = required.isArray() ? terms(required) : null;
  }

  public boolean admits(GpuNode node) {
    return all(nodeSelector, node)
        && (terms == null || terms.stream().anyMatch(term -> all(term, node)));
  }

  /**
   * Returns whether the requirements of one label admit a node with a value of it. Whatever else is
   * required is not looked at.
   *
   * @param value null for a node without the label
   */
  public boolean admitsLabel(String label, @Nullable String value) {
    return allOf(nodeSelector, label, value)
        && (terms == null || terms.stream().anyMatch(term -> allOf(term, label, value)));
  }

  /** Returns whether no node with this label is admitted, whatever its value. */
  public boolean forbids(String label) {
    return terms != null
        && !terms.isEmpty()
        && terms.stream().allMatch(term -> term.stream().anyMatch(each -> each.isAbsenceOf(label)));
  }

  private static boolean allOf(
      List<Requirement> requirements, String label, @Nullable String value) {
    return requirements.stream()
        .filter(each -> !each.field() && each.key().equals(label))
        .allMatch(each -> each.matches(value));
  }

  /** An empty term matches nothing, so it is left out. */
  private List<List<Requirement>> terms(JsonNode json) {
    var read = new ArrayList<List<Requirement>>();
    for (JsonNode term : json) {
      var requirements = new ArrayList<Requirement>();
      term.path("matchFields").forEach(e -> requirements.add(requirement(true, e)));
      term.path("matchExpressions").forEach(e -> requirements.add(requirement(false, e)));
      if (!requirements.isEmpty()) {
        read.add(requirements);
      }
    }
    return read;
  }

  private Requirement requirement(boolean field, JsonNode json) {
    var values = new HashSet<String>();
    json.path("values").forEach(value -> values.add(value.asText("")));
    return new Requirement(
        field,
        text(json, "key"),
        text(json, "operator"),
        values,
        LabelOperator.number(json.path("values").path(0).asText("")));
  }

  private static boolean all(List<Requirement> requirements, GpuNode node) {
    return requirements.stream().allMatch(requirement -> requirement.matches(node));
  }

  /**
   * @param field whether the key is a field of the node, not a label; the only field is its name
   * @param bound the number that Gt and Lt compare with
   */
  private record Requirement(
      boolean field, String key, String operator, Set<String> values, long bound) {
    boolean matches(GpuNode node) {
      if (field) {
        return key.equals("metadata.name") && matches(node.name());
      }
      return matches(node.labels().get(key));
    }

    boolean isAbsenceOf(String label) {
      return !field && key.equals(label) && operator.equals("DoesNotExist");
    }

    private boolean matches(@Nullable String value) {
      return LabelOperator.matches(operator, values, bound, value);
    }
  }
}
