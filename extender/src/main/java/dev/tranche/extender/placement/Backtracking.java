package dev.tranche.extender.placement;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Depth-first over the shares of a pod, the largest first, GPUs in a given order. The first
 * complete answer is thus the best by that order. It is exact unless it runs out of steps, and says
 * so then.
 *
 * <p>Three things keep it short. Equal shares take GPUs of increasing position ({@link Shares}). Of
 * GPUs with the same room one is tried. What is left is counted before shares of another size are
 * placed. The GPUs must have places for all shares of that size, and replicas for all that follow.
 * GPUs with too little room for the smallest share do not count.
 */
final class Backtracking {
  /**
   * How a search came out.
   *
   * @param gpus by share; null: none were found
   * @param gaveUp it ran out of steps, and nothing is known; else there surely are none
   * @param steps that it took
   */
  @SuppressWarnings("ArrayRecordComponent") // Read at once, and never compared.
  record Attempt(int @Nullable [] gpus, boolean gaveUp, int steps) {}

  private final Shares shares;
  private final SearchState room;
  private final int[][] orders;

  /** By share: its place in its order. */
  private final int[] positions;

  /** By container, of those with shares of several sizes; by GPU. */
  private final boolean[][] usedBy;

  /** By GPU: how many shares of such containers it has. */
  private final int[] mixedUses;

  private final int stepsMax;
  private int stepsLeft;

  /**
   * @param orders by share: the GPUs' numbers, the first to be tried first; equal shares have the
   *     same one
   * @param stepsMax looks at one GPU each
   */
  Backtracking(Shares shares, SearchState room, int[][] orders, int stepsMax) {
    this.shares = shares;
    this.room = room;
    this.orders = orders;
    this.positions = new int[shares.count()];
    this.usedBy = new boolean[shares.mixed.length][];
    this.mixedUses = new int[room.size()];
    this.stepsMax = stepsMax;
    this.stepsLeft = stepsMax;
  }

  /** Takes the room if there is enough; else the room is as before. */
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
    int bound = shares.after[share];
    int from = bound == Shares.UNBOUND ? 0 : positions[bound] + (shares.apart[share] ? 1 : 0);
    long tried = 0;
    for (int at = from; at < order.length; at++) {
      int gpu = order[at];
      if (--stepsLeft < 0) {
        return false;
      }
      if (!room.fits(gpu, replicas, 1) || used(share, gpu)) {
        continue;
      }
      long bit = 1L << room.hash(gpu);
      if ((tried & bit) != 0 && triedAlike(order, from, at)) {
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
    for (int gpu = 0; gpu < room.size(); gpu++) {
      int here = room.of(gpu);
      places +=
          here < share ? 0 : Math.min(room.fitting(gpu, share), shares.alikeContainers[first]);
      usable += here < smallest ? 0 : here;
    }
    stepsLeft -= room.size();
    return places >= shares.alike[first] && usable >= shares.total[first];
  }

  /** One with the same room was tried in vain: this one would only take its part. */
  private boolean triedAlike(int[] order, int from, int at) {
    int gpu = order[at];
    for (int earlier = from; earlier < at; earlier++) {
      stepsLeft--;
      int other = order[earlier];
      if (room.alike(gpu, other) && mixedUses[gpu] == 0 && mixedUses[other] == 0) {
        return true;
      }
    }
    return false;
  }

  /** Shares of one size are apart by their positions. */
  private boolean used(int share, int gpu) {
    boolean[] used = usedBy[shares.containers[share]];
    return used != null && used[gpu];
  }

  private void put(int share, int gpu, boolean taken) {
    if (taken) {
      room.take(gpu, shares.replicas[share]);
    } else {
      room.giveBack(gpu, shares.replicas[share]);
    }
    int container = shares.containers[share];
    if (shares.mixed[container]) {
      if (usedBy[container] == null) {
        usedBy[container] = new boolean[room.size()];
      }
      usedBy[container][gpu] = taken;
      mixedUses[gpu] += taken ? 1 : -1;
    }
  }

  /** The same order for all shares. */
  static int[][] same(int[] order, int shares) {
    var orders = new int[shares][];
    Arrays.fill(orders, order);
    return orders;
  }
}
