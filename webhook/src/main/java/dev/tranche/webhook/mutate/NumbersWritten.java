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
 * to where a number counts replicas. They are taken back to the number that the pod's owner wrote.
 *
 * @param pod with the owner's numbers
 * @param patch from the pod as it arrived to that one
 */
record NumbersWritten(PodView pod, JsonPatch patch, List<String> warnings) {
  static NumbersWritten takeBack(PodView pod, String resource) {
    String replicasPerGpu = pod.annotations().getOrDefault(Names.REPLICAS_PER_GPU, "");
    Map<String, Integer> gpusBefore = Demand.wholeGpus(pod.annotations());
    var patch = new JsonPatch();
    var warnings = new ArrayList<String>();
    if (!replicasPerGpu.matches("[1-9]\\d{0,4}") || gpusBefore.isEmpty()) {
      return new NumbersWritten(pod, patch, warnings);
    }
    JsonNode copy = pod.pod().deepCopy();
    for (Container container : pod.containers()) {
      int gpus = gpusBefore.getOrDefault(container.name(), 0);
      long requested = container.requested(resource);
      if (gpus > 0 && requested == (long) gpus * Integer.parseInt(replicasPerGpu)) {
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
