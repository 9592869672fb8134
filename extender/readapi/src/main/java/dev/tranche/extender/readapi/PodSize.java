package dev.tranche.extender.readapi;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.RequestBounds;
import java.util.List;
import java.util.Optional;

/** The bounds of a posted pod that admission has, too. */
final class PodSize {
  private PodSize() {}

  /** Returns what is too large; empty if the pod would be admitted. */
  static Optional<String> tooLarge(JsonNode spec) {
    int containers = spec.path("containers").size() + spec.path("initContainers").size();
    if (containers > RequestBounds.POD_CONTAINERS_MAX) {
      return Optional.of(containers + " containers");
    }
    for (String list : List.of("containers", "initContainers")) {
      for (JsonNode container : spec.path(list)) {
        for (JsonNode section : container.path("resources")) {
          if (section.size() > RequestBounds.RESOURCES_MAX) {
            return Optional.of(section.size() + " resources in a container");
          }
        }
      }
    }
    return tooManyExpressions(spec);
  }

  /** Checks what is compared with the labels of every node. */
  private static Optional<String> tooManyExpressions(JsonNode spec) {
    JsonNode terms =
        spec.path("affinity")
            .path("nodeAffinity")
            .path("requiredDuringSchedulingIgnoredDuringExecution")
            .path("nodeSelectorTerms");
    int expressions =
        spec.path("nodeSelector").size() + spec.path("tolerations").size() + terms.size();
    int values = 0;
    for (JsonNode term : terms) {
      for (JsonNode list : term) {
        expressions += list.size();
        for (JsonNode expression : list) {
          values += expression.path("values").size();
        }
      }
    }
    if (expressions > RequestBounds.EXPRESSIONS_MAX) {
      return Optional.of(expressions + " labels, terms, expressions and tolerations");
    }
    return values > RequestBounds.VALUES_MAX
        ? Optional.of(values + " values in node affinity")
        : Optional.empty();
  }
}
