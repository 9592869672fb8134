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

  /** The most characters of each value. */
  private static final Map<String, Integer> CHARS_MAX =
      Map.ofEntries(
          Map.entry(Names.GPU, LIST_CHARS_MAX),
          Map.entry(Names.GRANTED_REPLICAS, LIST_CHARS_MAX),
          Map.entry(Names.GPUS_REQUESTED, LIST_CHARS_MAX),
          Map.entry(Names.GRANTED_FRACTION, LIST_CHARS_MAX),
          Map.entry(Names.GPU_MODEL, RequestBounds.ALLOW_LIST_CHARS_MAX),
          Map.entry(Names.GPU_UUID, RequestBounds.ALLOW_LIST_CHARS_MAX),
          Map.entry(Names.GPU_CONTAINER, VALUE_CHARS_MAX),
          Map.entry(Names.GPU_COUNT, VALUE_CHARS_MAX),
          Map.entry(Names.GPU_FRACTION, VALUE_CHARS_MAX),
          Map.entry(Names.GPU_MEMORY, VALUE_CHARS_MAX),
          Map.entry(Names.GPU_MEMORY_LIMIT, VALUE_CHARS_MAX),
          Map.entry(Names.GPU_PLACEMENT, VALUE_CHARS_MAX),
          Map.entry(Names.REPLICAS_PER_GPU, VALUE_CHARS_MAX),
          Map.entry(Names.SERVED_BY, VALUE_CHARS_MAX));

  private static final List<String> OF_CONTAINER =
      List.of(Names.GPU_FRACTION_OF, Names.GPU_MEMORY_OF, Names.GPU_MEMORY_LIMIT_OF);

  private KeptAnnotations() {}

  /**
   * @param complete whether no value was left out because it is longer than admission allows
   */
  record Kept(Map<String, String> annotations, boolean complete) {}

  /** Returns whether Tranche reads an annotation of that key. */
  static boolean reads(String key) {
    return CHARS_MAX.containsKey(key) || OF_CONTAINER.stream().anyMatch(key::startsWith);
  }

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
    for (Map.Entry<String, Integer> known : CHARS_MAX.entrySet()) {
      fits &= keep(known.getKey(), known.getValue(), all, kept);
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
