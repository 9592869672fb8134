package dev.tranche.webhook.pod;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Printable;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.List;

/**
 * Denies pods whose size would make the work on them more than linear. Each check returns whether
 * it has denied the pod.
 */
public final class SizeLimits {
  private SizeLimits() {}

  public static boolean denyLarge(PodView pod, Messages messages) {
    int containers = pod.containers().size() + pod.spec().path("ephemeralContainers").size();
    if (denied(containers, "containers", RequestBounds.POD_CONTAINERS_MAX, messages)) {
      return true;
    }
    for (Container container : pod.containers()) {
      for (String section : Container.SECTIONS) {
        int resources = container.spec().path("resources").path(section).size();
        if (resources > RequestBounds.RESOURCES_MAX) {
          String name = Printable.value(container.name());
          String what = "resources in %s of container \"%s\"".formatted(section, name);
          return denied(resources, what, RequestBounds.RESOURCES_MAX, messages);
        }
      }
    }
    return denyManyExpressions(pod.spec(), pod.spec().path("affinity"), messages);
  }

  /** Returns whether a pod has more containers than any pod that is admitted. */
  public static boolean hasTooManyContainers(JsonNode pod) {
    JsonNode spec = pod.path("spec");
    return spec.path("initContainers").size() + spec.path("containers").size()
        > RequestBounds.POD_CONTAINERS_MAX;
  }

  /**
   * Denies requests of more replicas than any node has, or of more containers than are read.
   *
   * @param unit of the numbers that are requested
   */
  public static boolean denyAboveAnyNode(
      List<Demand.Request> requests, String unit, Messages messages) {
    long count = requests.stream().filter(request -> request.replicas() > 0).count();
    if (denied(count, "containers that request GPUs", RequestBounds.CONTAINERS_MAX, messages)) {
      return true;
    }
    // The number of each container was read up to just above the maximum.
    long peak = Demand.peakReplicas(requests);
    boolean above = peak > RequestBounds.REPLICAS_MAX;
    if (above) {
      String requested = "at least %d %s".formatted(peak, unit);
      messages.deny(Denial.ABOVE_ANY_NODE, requested, RequestBounds.REPLICAS_MAX);
    }
    return above;
  }

  /**
   * Checks the size of what is compared with the labels of every node. Kubernetes sets no limit
   * here.
   *
   * @param affinity that the pod has, or will have
   */
  public static boolean denyManyExpressions(JsonNode spec, JsonNode affinity, Messages messages) {
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
    String labels = "labels and terms and expressions of node affinity";
    return denied(expressions, labels, RequestBounds.EXPRESSIONS_MAX, messages)
        || denied(values, "values in node affinity", RequestBounds.VALUES_MAX, messages);
  }

  private static boolean denied(long count, String what, int most, Messages messages) {
    if (count > most) {
      messages.deny(Denial.TOO_LARGE, count + " " + what, most);
    }
    return count > most;
  }
}
