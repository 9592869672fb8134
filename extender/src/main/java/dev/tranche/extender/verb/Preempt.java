package dev.tranche.extender.verb;

/**
 * Preemption. kube-scheduler's dry run counts a node's totals only, so its victims need not free
 * one GPU; until victims are chosen anew here, the verb declines and nobody is evicted for it.
 */
public final class Preempt {
  /** An answer that kube-scheduler takes for a failure: it evicts nobody then. */
  public static final int DECLINED_STATUS = 500;

  public static final String DECLINED =
      "preemption is not decided by this version; remove preemptVerb from the extender's"
          + " configuration";

  private Preempt() {}
}
