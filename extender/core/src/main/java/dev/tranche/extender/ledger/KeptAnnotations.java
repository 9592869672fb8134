package dev.tranche.extender.ledger;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.RequestBounds;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The annotations of a pod that Tranche reads. All others are dropped: a tenant may write 256 KiB
 * of them on each pod.
 */
final class KeptAnnotations {
  /** A value that lists containers or GPUs. */
  private static final int LIST_CHARS_MAX = 64 << 10;

  private static final int VALUE_CHARS_MAX = RequestBounds.VALUE_CHARS_MAX;

  /** By the most characters of a value. */
  private static final Map<Integer, List<String>> OF_POD =
      Map.of(
          LIST_CHARS_MAX,
          List.of(Names.GPU, Names.GRANTED_REPLICAS, Names.GPUS_REQUESTED, Names.GRANTED_FRACTION),
          RequestBounds.ALLOW_LIST_CHARS_MAX,
          List.of(Names.GPU_MODEL, Names.GPU_UUID),
          VALUE_CHARS_MAX,
          List.of(
              Names.GPU_CONTAINER,
              Names.GPU_COUNT,
              Names.GPU_FRACTION,
              Names.GPU_MEMORY,
              Names.GPU_MEMORY_LIMIT,
              Names.GPU_PLACEMENT,
              Names.REPLICAS_PER_GPU,
              Names.SERVED_BY));

  private static final List<String> OF_CONTAINER =
      List.of(Names.GPU_FRACTION_OF, Names.GPU_MEMORY_OF, Names.GPU_MEMORY_LIMIT_OF);

  private KeptAnnotations() {}

  /**
   * @param complete whether no value was left out because it is longer than admission allows
   */
  record Kept(Map<String, String> annotations, boolean complete) {}

  /**
   * Returns the annotations to keep.
   *
   * @param requests of the containers that are kept
   */
  static Kept of(Map<String, String> all, List<Demand.Request> requests) {
    if (all.isEmpty()) {
      return new Kept(Map.of(), true);
    }
    var kept = new HashMap<String, String>();
    boolean fits = true;
    for (Map.Entry<Integer, List<String>> keys : OF_POD.entrySet()) {
      for (String key : keys.getValue()) {
        fits &= keep(key, keys.getKey(), all, kept);
      }
    }
    for (Demand.Request request : requests) {
      for (String prefix : OF_CONTAINER) {
        fits &= keep(prefix + request.container(), VALUE_CHARS_MAX, all, kept);
      }
    }
    return new Kept(kept, fits);
  }

  /** Returns whether the value is kept, or there is none. */
  private static boolean keep(
      String key, int charsMax, Map<String, String> all, Map<String, String> kept) {
    @Nullable String value = all.get(key);
    if (value == null) {
      return true;
    }
    boolean fits = value.length() <= charsMax;
    if (fits) {
      kept.put(key, value);
    }
    return fits;
  }
}
