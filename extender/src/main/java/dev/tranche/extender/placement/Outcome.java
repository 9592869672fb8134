package dev.tranche.extender.placement;

/** Whether a node can take a pod. */
public sealed interface Outcome {
  record Fits(Placement placement) implements Outcome {}

  record DoesNotFit(Reason reason) implements Outcome {}
}
