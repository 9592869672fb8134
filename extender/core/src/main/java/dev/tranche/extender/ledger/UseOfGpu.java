package dev.tranche.extender.ledger;

import dev.tranche.api.GpuPart;
import dev.tranche.extender.ledger.NodeState.Grant;
import java.util.HashMap;
import java.util.Map;

/**
 * Sums up what pods hold of one GPU. Replicas of the GPU's present R and resource are counted.
 * Others are added as parts of the GPU, since counts of different R are different quantities.
 */
final class UseOfGpu {
  /**
   * Limit of different R on one GPU, more than any GPU has had while its pods run. A node says what
   * its replicas were granted in. The sum of parts of thousands of R would take the loop minutes.
   */
  static final int EARLIER_MAX = 16;

  /** More replicas than a node has; sums do not overflow. */
  private static final int COUNT_MAX = 1 << 28;

  private final int replicas;
  int held;
  int unknown;

  /** Of an earlier config, as the node's list has it; the node withholds replicas for it. */
  private final Earlier listed = new Earlier();

  /** Of an earlier config, which the node's list does not show yet. */
  private final Earlier unlisted = new Earlier();

  /** Counts of replicas by their R. */
  private static final class Earlier {
    private Map<Integer, Integer> counts = Map.of();
    private boolean tooMany;

    void add(int count, int of) {
      counts = counts.isEmpty() ? new HashMap<>(2) : counts;
      tooMany |= counts.size() == EARLIER_MAX && !counts.containsKey(of);
      if (!tooMany) {
        counts.merge(of, count, UseOfGpu::sum);
      }
    }

    /** Returns the sum; the whole GPU if it is made of too many different R to tell. */
    GpuPart sum() {
      if (tooMany) {
        return GpuPart.of(1, 1);
      }
      GpuPart sum = GpuPart.NONE;
      for (Map.Entry<Integer, Integer> of : counts.entrySet()) {
        sum = sum.plus(GpuPart.of(of.getValue(), of.getKey()));
      }
      return sum;
    }
  }

  /**
   * @param replicas R that the GPU is split into now
   */
  UseOfGpu(int replicas) {
    this.replicas = replicas;
  }

  /**
   * @param ofThisResource whether it was requested under the GPU's present resource
   * @param isListed whether the node's list has it
   */
  void add(int count, int countedIn, boolean ofThisResource, boolean isListed) {
    if (countedIn == replicas && ofThisResource) {
      held = sum(held, count);
    } else {
      (isListed ? listed : unlisted).add(count, countedIn);
    }
  }

  /** Adds what the kubelet lists for a pod that no informer has shown. */
  void addUnknown(int count, Grant grant) {
    if (grant.earlier()) {
      listed.add(count, grant.of());
    } else {
      unknown = sum(unknown, count);
    }
  }

  private static int sum(int before, int more) {
    return (int) Math.min(COUNT_MAX, (long) before + more);
  }

  /** Returns what is held as replicas of an earlier config. */
  GpuPart earlier() {
    return listed.sum().plus(unlisted.sum());
  }

  /**
   * Returns how many replicas nobody can get because of {@link #earlier}.
   *
   * @param others that the node withholds for other reasons
   */
  int withheld(int others) {
    return listed.sum().replicas(replicas) + unlisted.sum().replicas(replicas) + others;
  }
}
