package dev.tranche.extender.explain;

/**
 * Why one pod waits, and what to do about it. It has no figures of the cluster's state, so that it
 * changes only with the reason.
 *
 * @param message a clause about the pod, in fractions of a GPU
 * @param whatToDo one or two sentences about this reason
 */
public record WaitCause(WaitReason reason, String message, String whatToDo) {
  /** Returns the line that people read first. */
  public String line() {
    return reason + ": " + message;
  }
}
