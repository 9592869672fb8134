package dev.tranche.extender.placement;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A depth-first search that places the shares of a pod, the largest first, on GPUs in a given
 * order. The first complete answer is therefore the best by that order. The search is exact unless
 * it runs out of steps, which it then reports.
 *
 * <p>Three rules keep it short. Equal shares take GPUs of increasing position ({@link Shares}). Of
 * several GPUs with the same free capacity, only one is tried. Before shares of another size are
 * placed, the remaining capacity is counted. The GPUs must have places for all shares of that size,
 * and replicas for all that follow. GPUs with too few replicas for the smallest share do not count.
 */
final class Backtracking {
  /**
   * The result of a search.
   *
   * @param gpus by share; null if no GPUs were found
   * @param gaveUp whether it ran out of steps, so that nothing is known; otherwise null means that
   *     there are none
   * @param steps the number of steps taken
   */
  @SuppressWarnings("ArrayRecordComponent") // Read at once, and never compared.
  record Attempt(int @Nullable [] gpus, boolean gaveUp, int steps) {}

  private final Shares shares;
  private final SearchState state;
  private final int[][] orders;

  /** The position of each share's GPU in the share's order. */
  private final int[] positions;

  /**
   * By container and GPU: whether the container uses the GPU; only for containers with shares of
   * several sizes.
   */
  private final boolean[][] usedBy;

  /** By GPU: the number of its shares that belong to such containers. */
  private final int[] mixedUses;

  private final int stepsMax;
  private int stepsLeft;

  /**
   * @param orders by share: the numbers of the GPUs in the order in which they are tried; equal
   *     shares have the same order
   * @param stepsMax the limit of steps; one step looks at one GPU
   */
  Backtracking(Shares shares, SearchState state, int[][] orders, int stepsMax) {
    this.shares = shares;
    this.state = state;
    this.orders = orders;
    this.positions = new int[shares.count()];
    this.usedBy = new boolean[shares.mixed.length][];
    this.mixedUses = new int[state.size()];
    this.stepsMax = stepsMax;
    this.stepsLeft = stepsMax;
  }

  /** Takes the replicas if all shares fit; otherwise leaves the free capacity as it was. */
  Attempt run() {
    int @Nullable [] gpus =
        assign(0)
            ? IntStream.range(0, positions.length)
                .map(share -> orders[share][positions[share]])
                .toArray()
            : null;
    return new Attempt(gpus, gpus == null && stepsLeft < 0, stepsMax - stepsLeft);
  }

  private boolean assign(int share) {
    if (share == shares.count()) {
      return true;
    }
    int replicas = shares.replicas[share];
    if ((share == 0 || shares.replicas[share - 1] != replicas) && !couldFit(share)) {
      return false;
    }
    int[] order = orders[share];
    int bound = shares.notBefore[share];
    int from = bound == Shares.UNBOUND ? 0 : positions[bound] + (shares.onOtherGpu[share] ? 1 : 0);
    long tried = 0;
    for (int at = from; at < order.length; at++) {
      int gpu = order[at];
      if (--stepsLeft < 0) {
        return false;
      }
      if (!state.fits(gpu, replicas, 1) || used(share, gpu)) {
        continue;
      }
      long bit = 1L << state.hash(gpu);
      if ((tried & bit) != 0 && triedEqual(order, from, at)) {
        continue;
      }
      tried |= bit;
      positions[share] = at;
      put(share, gpu, true);
      if (assign(share + 1)) {
        return true;
      }
      put(share, gpu, false);
      if (stepsLeft < 0) {
        return false;
      }
    }
    return false;
  }

  private boolean couldFit(int first) {
    int share = shares.replicas[first];
    int smallest = shares.replicas[shares.count() - 1];
    int places = 0;
    long usable = 0;
    for (int gpu = 0; gpu < state.size(); gpu++) {
      int here = state.freeReplicas(gpu);
      places +=
          here < share ? 0 : Math.min(state.fitting(gpu, share), shares.sameSizeContainers[first]);
      usable += here < smallest ? 0 : here;
    }
    stepsLeft -= state.size();
    return places >= shares.sameSize[first] && usable >= shares.total[first];
  }

  /**
   * Returns whether a GPU with the same free capacity was tried in vain, so that this one cannot
   * help.
   */
  private boolean triedEqual(int[] order, int from, int at) {
    int gpu = order[at];
    for (int earlier = from; earlier < at; earlier++) {
      stepsLeft--;
      int other = order[earlier];
      if (state.equalCapacity(gpu, other) && mixedUses[gpu] == 0 && mixedUses[other] == 0) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns whether the container already uses the GPU. Shares of one size are kept apart by their
   * positions.
   */
  private boolean used(int share, int gpu) {
    boolean[] used = usedBy[shares.containers[share]];
    return used != null && used[gpu];
  }

  private void put(int share, int gpu, boolean taken) {
    if (taken) {
      state.take(gpu, shares.replicas[share]);
    } else {
      state.giveBack(gpu, shares.replicas[share]);
    }
    int container = shares.containers[share];
    if (shares.mixed[container]) {
      if (usedBy[container] == null) {
        usedBy[container] = new boolean[state.size()];
      }
      usedBy[container][gpu] = taken;
      mixedUses[gpu] += taken ? 1 : -1;
    }
  }

  /** Returns the same order for all shares. */
  static int[][] same(int[] order, int shares) {
    var orders = new int[shares][];
    Arrays.fill(orders, order);
    return orders;
  }
}
