package dev.tranche.extender.state;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFacts;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** Extracts the annotations that decide a pod's GPUs, in their shortest form. */
final class SchedulingAnnotations {
  private static final Set<String> KEPT_WHOLE =
      Set.of(
          Names.GPU_CONTAINER,
          Names.GPU_COUNT,
          Names.GPU_MODEL,
          Names.GPU_PLACEMENT,
          Names.GPU_UUID,
          Names.GPUS_REQUESTED,
          Names.REPLICAS_PER_GPU);

  /**
   * Kept without their values: the pod's requests have the amount, and the key shows that they come
   * from a share.
   */
  private static final Set<String> KEPT_BY_KEY = Set.of(Names.GPU_FRACTION, Names.GPU_MEMORY);

  private SchedulingAnnotations() {}

  static Map<String, String> of(PodFacts pod) {
    Map<String, String> all = pod.annotations();
    var kept = new HashMap<String, String>();
    for (String word : KEPT_WHOLE) {
      if (all.containsKey(word)) {
        kept.put(word, all.get(word));
      }
    }
    KEPT_BY_KEY.forEach(key -> keep(key, all, kept));
    for (Demand.Request request : pod.requests()) {
      keep(Names.GPU_FRACTION_OF + request.container(), all, kept);
      keep(Names.GPU_MEMORY_OF + request.container(), all, kept);
    }
    return Map.copyOf(kept);
  }

  private static void keep(String key, Map<String, String> all, Map<String, String> kept) {
    if (all.containsKey(key)) {
      kept.put(key, "");
    }
  }
}
