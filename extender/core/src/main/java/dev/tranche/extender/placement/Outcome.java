package dev.tranche.extender.placement;

/** Whether a node can take a pod. */
public sealed interface Outcome {
  record Fits(Placement placement) implements Outcome {}

  /**
   * @param reason {@link Reason#UNDECIDED} if the search was given up: the pod is not placed there,
   *     although it may fit
   */
  record DoesNotFit(Reason reason) implements Outcome {}
}
