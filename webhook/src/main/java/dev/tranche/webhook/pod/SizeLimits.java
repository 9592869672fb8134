package dev.tranche.webhook.pod;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Printable;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.List;
import java.util.Optional;

/** Finds pods whose size would make the work on them more than linear. */
public final class SizeLimits {
  private SizeLimits() {}

  /** Returns the problem; empty if the pod is within the limits. */
  public static Optional<Problem> tooLarge(PodView pod) {
    List<Container> containers = pod.containers();
    int count = containers.size() + pod.spec().path("ephemeralContainers").size();
    if (count > RequestBounds.POD_CONTAINERS_MAX) {
      return refuse(count + " containers", String.valueOf(RequestBounds.POD_CONTAINERS_MAX));
    }
    for (Container container : containers) {
      for (String section : List.of("limits", "requests")) {
        int resources = container.spec().path("resources").path(section).size();
        if (resources > RequestBounds.RESOURCES_MAX) {
          return refuse(
              "%d resources in %s of container \"%s\""
                  .formatted(resources, section, Printable.value(container.name())),
              String.valueOf(RequestBounds.RESOURCES_MAX));
        }
      }
    }
    return tooMany(pod.spec(), pod.spec().path("affinity"));
  }

  /** Returns whether a pod has more containers than any pod that is admitted. */
  public static boolean hasTooManyContainers(JsonNode pod) {
    JsonNode spec = pod.path("spec");
    return spec.path("initContainers").size() + spec.path("containers").size()
        > RequestBounds.POD_CONTAINERS_MAX;
  }

  /**
   * Finds requests of more replicas than any node has, or of more containers than are read.
   *
   * @param unit of the numbers that are requested
   */
  public static Optional<Problem> aboveAnyNode(List<Demand.Request> requests, String unit) {
    long count = requests.stream().filter(request -> request.replicas() > 0).count();
    if (count > RequestBounds.CONTAINERS_MAX) {
      return refuse(
          count + " containers that request GPUs", String.valueOf(RequestBounds.CONTAINERS_MAX));
    }
    // The number of each container was read up to just above the maximum.
    long peak = Demand.peakReplicas(requests);
    return peak > RequestBounds.REPLICAS_MAX
        ? Optional.of(
            Denial.ABOVE_ANY_NODE.of(
                "at least %d %s".formatted(peak, unit), String.valueOf(RequestBounds.REPLICAS_MAX)))
        : Optional.empty();
  }

  /**
   * Checks the size of what is compared with the labels of every node. Kubernetes sets no limit
   * here.
   *
   * @param affinity that the pod has, or will have
   */
  public static Optional<Problem> tooMany(JsonNode spec, JsonNode affinity) {
    int expressions = spec.path("nodeSelector").size();
    int values = 0;
    JsonNode terms = PodView.requiredTerms(affinity);
    expressions += terms.size();
    for (JsonNode term : terms) {
      for (String kind : List.of("matchExpressions", "matchFields")) {
        expressions += term.path(kind).size();
        for (JsonNode expression : term.path(kind)) {
          values += expression.path("values").size();
        }
      }
    }
    if (expressions > RequestBounds.EXPRESSIONS_MAX) {
      return refuse(
          expressions + " labels and terms and expressions of node affinity",
          String.valueOf(RequestBounds.EXPRESSIONS_MAX));
    }
    return values > RequestBounds.VALUES_MAX
        ? refuse(values + " values in node affinity", String.valueOf(RequestBounds.VALUES_MAX))
        : Optional.empty();
  }

  private static Optional<Problem> refuse(String has, String most) {
    return Optional.of(Denial.TOO_LARGE.of(has, most));
  }
}
