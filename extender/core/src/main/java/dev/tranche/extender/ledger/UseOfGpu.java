package dev.tranche.extender.ledger;

import dev.tranche.api.GpuPart;

/**
 * Sums up what pods hold of one GPU. Replicas of the GPU's present R and resource are counted.
 * Others are added as parts of the GPU, since counts of different R are different quantities.
 */
final class UseOfGpu {
  private final int replicas;
  private int held;
  private int unknown;

  /** Of an earlier config, as the node's list has it; the node withholds replicas for it. */
  private GpuPart listed = GpuPart.NONE;

  /** Of an earlier config, which the node's list does not show yet. */
  private GpuPart unlisted = GpuPart.NONE;

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
      held += count;
    } else if (isListed) {
      listed = listed.plus(GpuPart.of(count, countedIn));
    } else {
      unlisted = unlisted.plus(GpuPart.of(count, countedIn));
    }
  }

  /** Adds what the kubelet lists for a pod that no informer has shown. */
  void addUnknown(int count, NodeState.Grant grant) {
    if (grant.earlier()) {
      listed = listed.plus(GpuPart.of(count, grant.of()));
    } else {
      unknown += count;
    }
  }

  int held() {
    return held;
  }

  int unknown() {
    return unknown;
  }

  /** Returns what is held as replicas of an earlier config. */
  GpuPart earlier() {
    return listed.plus(unlisted);
  }

  /**
   * Returns how many replicas nobody can get because of {@link #earlier}.
   *
   * @param others that the node withholds for other reasons
   */
  int withheld(int others) {
    return listed.replicas(replicas) + unlisted.replicas(replicas) + others;
  }
}
