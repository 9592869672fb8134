package dev.tranche.extender.placement;

import dev.tranche.extender.placement.Backtracking.Attempt;
import java.nio.IntBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Long searches for one pod that found nothing. A cluster's nodes are much alike, so that the same
 * search would be made on each. What is remembered is what the search would find again, since all
 * that it depends on is the key. Safe from any thread.
 */
final class FailedSearches {
  /** Later ones are not remembered. */
  static final int MAX = 64;

  /** A shorter one is made again sooner than it is remembered. */
  private static final int STEPS_MIN = 256;

  private final Map<IntBuffer, Attempt> known = new ConcurrentHashMap<>();

  Optional<Attempt> find(IntBuffer key) {
    return Optional.ofNullable(known.get(key));
  }

  void add(IntBuffer key, Attempt failed) {
    if (failed.steps() >= STEPS_MIN && known.size() < MAX) {
      known.put(key, failed);
    }
  }

  int size() {
    return known.size();
  }

  /**
   * All that a search depends on, with the GPUs named by their places in the first order.
   *
   * @param orders by share, at least one; a size of share that has its own has another array
   */
  @SuppressWarnings("ReferenceEquality")
  static IntBuffer key(SearchState room, int[][] orders, int stepsMax) {
    int gpus = room.size();
    IntBuffer key = IntBuffer.allocate(2 + gpus * (2 + Search.ORDERS_MAX));
    key.put(orders.length).put(stepsMax);
    int[] places = new int[gpus];
    for (int place = 0; place < gpus; place++) {
      places[orders[0][place]] = place;
      room.describe(orders[0][place], key);
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
