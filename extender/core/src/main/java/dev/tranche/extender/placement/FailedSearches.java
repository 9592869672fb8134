package dev.tranche.extender.placement;

import dev.tranche.extender.placement.Backtracking.Attempt;
import java.nio.IntBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A cache of long searches for one pod that found nothing. The nodes of a cluster are much alike,
 * so the same search would run on each of them. The key contains all that a search depends on, so
 * the search would find the same again. Thread-safe.
 */
final class FailedSearches {
  /** Limit of cached searches; later ones are not cached. */
  static final int MAX = 64;

  /** A shorter search is repeated faster than it is cached. */
  private static final int STEPS_MIN = 256;

  final Map<IntBuffer, Attempt> known = new ConcurrentHashMap<>();

  Optional<Attempt> find(IntBuffer key) {
    return Optional.ofNullable(known.get(key));
  }

  void add(IntBuffer key, Attempt failed) {
    if (failed.steps() >= STEPS_MIN && known.size() < MAX) {
      known.put(key, failed);
    }
  }

  /**
   * Returns all that a search depends on; GPUs are named by their positions in the first order.
   *
   * @param orders by share, at least one; each size of share with an order of its own has another
   *     array
   */
  @SuppressWarnings("ReferenceEquality")
  static IntBuffer key(SearchState state, int[][] orders, int stepsMax) {
    int gpus = state.size();
    IntBuffer key = IntBuffer.allocate(2 + gpus * (2 + Search.ORDERS_MAX));
    key.put(orders.length).put(stepsMax);
    int[] places = new int[gpus];
    for (int place = 0; place < gpus; place++) {
      places[orders[0][place]] = place;
      state.describe(orders[0][place], key);
    }
    for (int share = 1; share < orders.length; share++) {
      if (orders[share] != orders[share - 1]) {
        for (int gpu : orders[share]) {
          key.put(places[gpu]);
        }
      }
    }
    return key.flip();
  }
}
