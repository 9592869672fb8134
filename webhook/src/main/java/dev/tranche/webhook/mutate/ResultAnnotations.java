package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.PodView;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Tranche's result annotations on the pod. Values that the user wrote there are overwritten or
 * removed, since the extender trusts these annotations.
 */
record ResultAnnotations(Map<String, String> values) {
  private static final List<String> KEYS =
      Stream.of(
              Names.REPLICAS_PER_GPU,
              Names.GRANTED_FRACTION,
              Names.GPU,
              Names.GRANTED_MEMORY,
              Names.GRANTED_REPLICAS,
              Names.GPU_MODEL_GRANTED,
              Names.GPUS_REQUESTED,
              Names.SERVED_BY,
              Names.ADDED)
          .sorted()
          .toList();

  static ResultAnnotations of(Decision.Admitted decision, Added added) {
    var values = new HashMap<String, String>();
    added.text().ifPresent(text -> values.put(Names.ADDED, text));
    if (decision.byOthers()) {
      values.put(Names.SERVED_BY, Names.OTHER);
    }
    decision
        .grants()
        .granted()
        .ifPresent(
            granted -> put(granted.grants(), granted.granularity().replicasPerGpu(), values));
    return new ResultAnnotations(Map.copyOf(values));
  }

  private static void put(List<Grant> grants, int replicasPerGpu, Map<String, String> values) {
    values.put(Names.REPLICAS_PER_GPU, String.valueOf(replicasPerGpu));
    List<Grant> rounded = grants.stream().filter(Grant::roundedUp).toList();
    if (!rounded.isEmpty()) {
      values.put(
          Names.GRANTED_FRACTION,
          grants.size() == 1
              ? rounded.getFirst().fraction()
              : byContainer(rounded.stream(), Grant::fraction));
    }
    if (grants.stream().anyMatch(g -> g.wholeGpus() > 0)) {
      values.put(
          Names.GPUS_REQUESTED,
          byContainer(
              grants.stream().filter(g -> g.wholeGpus() > 0), g -> String.valueOf(g.wholeGpus())));
    }
  }

  private static String byContainer(Stream<Grant> grants, Function<Grant, String> value) {
    return grants
        .map(g -> g.request().container().name() + "=" + value.apply(g))
        .collect(Collectors.joining(","));
  }

  /**
   * @param arrived the pod to which the patch applies
   * @param pod as it is after what the patch has done so far
   */
  void write(PodView arrived, PodView pod, JsonPatch patch) {
    if (!values.isEmpty() && !pod.pod().path("metadata").path("annotations").isObject()) {
      patch.add(JsonNodeFactory.instance.objectNode(), "metadata", "annotations");
    }
    Map<String, String> annotations = arrived.annotations();
    for (String key : KEYS) {
      String value = values.get(key);
      if (value != null && !value.equals(annotations.get(key))) {
        patch.add(value, "metadata", "annotations", key);
      } else if (value == null && annotations.containsKey(key)) {
        patch.remove("metadata", "annotations", key);
      }
    }
  }
}
