package dev.tranche.extender.invariant;

/** What must hold, and for how long it may fail to hold while messages are on their way. */
public enum Invariant {
  /** The kubelets have given no more of a GPU than the whole. */
  GPU_ALLOCATED_ONCE(0),
  /** The pods that are bound and not ended were promised no more of a GPU than the whole. */
  GPU_PROMISED_ONCE(0),
  /**
   * All replicas of a container are on the GPUs in the pod's annotation, if these had room and were
   * healthy when the kubelet admitted it.
   */
  POD_ON_PROMISED_GPU(0),
  /** The node admits a pod that was bound to it while nothing failed. */
  BOUND_POD_IS_ADMITTED(0),
  /** No pod begins on a GPU that was known to be unhealthy. */
  NOTHING_ON_UNHEALTHY_GPU(0),
  /** The extender records the same parts for a pod as the kubelet has given. */
  HOLD_MATCHES_KUBELET(60_000),
  /** The extender records a hold for each bound pod. */
  BOUND_POD_HAS_HOLD(60_000),
  /** The extender records no hold for a pod that does not exist. */
  HOLD_HAS_POD(120_000),
  /** A pod that fits on a node is bound. */
  WAITING_POD_IS_BOUND(90_000),
  /** A pod fits where others were evicted for it, once they are gone and while nothing failed. */
  NOBODY_IS_EVICTED_IN_VAIN(0),
  /** No process logs an error: each one is a bug. */
  NO_ERROR_IS_LOGGED(0);

  /** For how long it may be broken while nothing fails. */
  public final long boundMs;

  Invariant(long boundMs) {
    this.boundMs = boundMs;
  }
}
