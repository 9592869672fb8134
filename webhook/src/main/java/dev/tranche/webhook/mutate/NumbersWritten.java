package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Warning;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Replicas that Tranche has written for a number of whole GPUs, in a pod that is restored or copied
 * to where numbers are not converted. They are taken back to the number that the pod's owner wrote.
 *
 * @param pod with the owner's numbers
 * @param patch from the pod as it arrived to that one
 */
record NumbersWritten(PodView pod, JsonPatch patch, List<String> warnings) {
  /**
   * @param left whether the pod is left to nodes of others, so that nothing says any more that it
   *     has replicas
   */
  static NumbersWritten takeBack(PodView pod, String resource, boolean left) {
    Map<String, Integer> gpusBefore = Demand.wholeGpus(pod.annotations());
    var patch = new JsonPatch();
    var warnings = new ArrayList<String>();
    List<String> ours =
        Stream.of(Names.GPUS_REQUESTED, Names.REPLICAS_PER_GPU)
            .filter(key -> left && pod.annotations().containsKey(key))
            .toList();
    if (ours.isEmpty() && gpusBefore.isEmpty()) {
      return new NumbersWritten(pod, patch, warnings);
    }
    int replicas = pod.replicasPerGpu();
    JsonNode copy = pod.pod().deepCopy();
    for (Container container : pod.containers()) {
      int gpus = gpusBefore.getOrDefault(container.name(), 0);
      long requested = container.requested(resource);
      if (requested > 0 && requested == (long) gpus * replicas) {
        for (String section : List.of("limits", "requests")) {
          JsonNode resources =
              copy.path("spec").path(container.list()).path(container.index()).path("resources");
          if (resources.path(section) instanceof ObjectNode quantities
              && quantities.has(resource)) {
            quantities.put(resource, String.valueOf(gpus));
            patch.add(String.valueOf(gpus), container.path("resources", section, resource));
          }
        }
        warnings.add(
            Warning.NUMBER_TAKEN_BACK.of(
                container.name(), resource, requested, gpus, Names.GPU_FRACTION));
      }
    }
    for (String key : ours) {
      ((ObjectNode) copy.at("/metadata/annotations")).remove(key);
      patch.remove("metadata", "annotations", key);
    }
    return new NumbersWritten(new PodView(copy), patch, warnings);
  }

  /** Returns both: this, and then what was decided about the pod with the owner's numbers. */
  Mutation before(Mutation decided) {
    if (patch.isEmpty() || decided instanceof Mutation.Denied) {
      return decided;
    }
    if (decided instanceof Mutation.Patched(JsonPatch then, List<String> said)) {
      patch.operations().addAll(then.operations());
    }
    return new Mutation.Patched(
        patch, Stream.concat(warnings.stream(), decided.warnings().stream()).toList());
  }
}
