package dev.tranche.webhook.pod;

import static java.util.stream.Collectors.joining;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Predicate;

/**
 * A pod as its owner wrote it. What Tranche has written on it before is taken back: a pod may be
 * restored or copied to where that would be something else, and webhooks are called twice.
 *
 * @param arrived the pod of the review
 * @param pod a copy with the owner's numbers, requirements and scheduler, which may be changed
 * @param numbers the whole GPUs for which Tranche has written replicas
 * @param added what Tranche has added to the pod that arrived
 */
public record OwnersPod(
    PodView arrived, PodView pod, Map<Container, Integer> numbers, Added added) {
  public static final String DEFAULT_SCHEDULER = "default-scheduler";

  /**
   * @param resource the resource whose replicas Tranche writes
   * @param takenBack the labels of which requirements that Tranche has added are taken back
   */
  public static OwnersPod of(
      PodView arrived, Added added, String resource, Predicate<String> takenBack) {
    Map<Container, Integer> numbers = numbers(arrived, resource);
    JsonNode copy = arrived.pod().deepCopy();
    JsonNode spec = copy.path("spec");
    numbers.forEach(
        (container, gpus) -> {
          JsonNode resources =
              spec.path(container.list()).path(container.index()).path("resources");
          for (String section : Container.SECTIONS) {
            if (resources.path(section) instanceof ObjectNode quantities
                && quantities.has(resource)) {
              quantities.put(resource, String.valueOf(gpus));
            }
          }
        });
    if (!numbers.isEmpty()) {
      PodView.object(copy.path("metadata"), "annotations")
          .put(
              Names.GPUS_REQUESTED,
              numbers.entrySet().stream()
                  .map(each -> each.getKey().name() + "=" + each.getValue())
                  .collect(joining(",")));
    }
    added.removeFrom(spec.path("affinity"), takenBack);
    if (!added.schedulerName().isEmpty()
        && added.schedulerName().equals(arrived.text("schedulerName"))) {
      ((ObjectNode) spec).put("schedulerName", DEFAULT_SCHEDULER);
    }
    return new OwnersPod(arrived, new PodView(copy), numbers, added);
  }

  /** The containers whose number Tranche has written, or another webhook has copied from such. */
  private static Map<Container, Integer> numbers(PodView pod, String resource) {
    Map<String, Integer> before = Demand.wholeGpus(pod.annotations());
    var numbers = new LinkedHashMap<Container, Integer>();
    long replicas = pod.replicasPerGpu();
    if (before.isEmpty() || replicas == 0) {
      return numbers;
    }
    for (Container container : pod.containers()) {
      long requested = container.requested(resource);
      if (requested == 0) {
        continue;
      }
      boolean own = before.getOrDefault(container.name(), 0) > 0;
      pod.containers().stream()
          .filter(each -> own ? each.equals(container) : each.requested(resource) == requested)
          .map(each -> before.getOrDefault(each.name(), 0))
          .filter(gpus -> gpus > 0 && gpus * replicas == requested)
          .findFirst()
          .ifPresent(gpus -> numbers.put(container, gpus));
    }
    return numbers;
  }

  /** Returns the container of the pod that arrived, at the place of one of the owner's pod. */
  public Container arrived(Container container) {
    return arrived.containers().get(pod.containers().indexOf(container));
  }
}
