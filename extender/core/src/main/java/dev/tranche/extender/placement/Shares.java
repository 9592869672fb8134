package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The shares of a pod in the order in which a search places them: the largest first, and those of
 * one container one after the other. It is made once for a pod, and read on every node.
 *
 * <p>Shares that are interchangeable are placed on GPUs of increasing position. A search then meets
 * each set of GPUs once, and not once for each permutation of equal shares.
 */
final class Shares {
  /**
   * Limit of shares, more than any real pod has. Placing thousands takes long though each is easy.
   */
  static final int COUNT_MAX = 512;

  static final Shares NONE = new Shares(List.of(), 0);

  /** No earlier share bounds the position. */
  static final int UNBOUND = -1;

  /** Replicas of each share. */
  final int[] replicas;

  /** Each share's container, by its index in the demand. */
  final int[] containers;

  /** The earlier share at or after whose position this one is placed; or {@link #UNBOUND}. */
  final int[] notBefore;

  /**
   * Whether that earlier share is of the same container, so that this one must lie on another GPU.
   */
  final boolean[] onOtherGpu;

  /** Whether the container has shares of several sizes. */
  final boolean[] mixed;

  /** Replicas of each share and all that follow. */
  final long[] total;

  /** The number of shares of the same size, from each share on. */
  final int[] sameSize;

  /** The number of containers with those shares; no GPU takes two shares of one container. */
  final int[] sameSizeContainers;

  /**
   * @param container its index in the demand
   */
  private record Item(int container, Demand.Container of, int replicas) {}

  private Shares(List<Item> items, int containerCount) {
    int count = items.size();
    replicas = new int[count];
    containers = new int[count];
    notBefore = new int[count];
    onOtherGpu = new boolean[count];
    mixed = new boolean[containerCount];
    total = new long[count + 1];
    sameSize = new int[count];
    sameSizeContainers = new int[count];
    for (int i = count - 1; i >= 0; i--) {
      Item item = items.get(i);
      replicas[i] = item.replicas();
      containers[i] = item.container();
      mixed[item.container()] = item.of().shares().size() > 1;
      total[i] = total[i + 1] + replicas[i];
      boolean last = i + 1 == count || replicas[i + 1] != replicas[i];
      boolean own = !last && containers[i + 1] == containers[i];
      sameSize[i] = last ? 1 : sameSize[i + 1] + 1;
      sameSizeContainers[i] = last ? 1 : sameSizeContainers[i + 1] + (own ? 0 : 1);
    }
    setBounds(items);
  }

  private void setBounds(List<Item> items) {
    // The first share of the last container that has the same shares.
    Map<List<Demand.Shares>, Integer> firsts = new HashMap<>();
    for (int i = 0; i < items.size(); i++) {
      boolean own = i > 0 && containers[i] == containers[i - 1] && replicas[i] == replicas[i - 1];
      List<Demand.Shares> shares = items.get(i).of().shares();
      boolean first = replicas[i] == shares.getFirst().replicas() && !own;
      Integer equal = first ? firsts.put(shares, i) : null;
      onOtherGpu[i] = own;
      notBefore[i] = own ? i - 1 : equal == null ? UNBOUND : equal;
    }
  }

  static Shares all(Demand demand) {
    return of(demand, true);
  }

  /** Returns only the shares that may not be split. */
  static Shares unsplittable(Demand demand) {
    return of(demand, false);
  }

  private static Shares of(Demand demand, boolean splittable) {
    var items = new ArrayList<Item>();
    for (int i = 0; i < demand.containers().size(); i++) {
      Demand.Container container = demand.containers().get(i);
      if (splittable || !container.mayUseSeveralGpus()) {
        int index = i;
        container.eachShare().forEach(r -> items.add(new Item(index, container, r)));
      }
    }
    // The sort is stable, so containers with equal requests stay together.
    items.sort(
        Comparator.comparingInt(Item::replicas)
            .reversed()
            .thenComparingInt(item -> -item.of().gpus()));
    return new Shares(items, demand.containers().size());
  }

  int count() {
    return replicas.length;
  }
}
