package dev.tranche.extender.placement;

import java.util.Optional;

/** Whether a node can take a pod. */
public sealed interface Outcome {
  record Fits(Placement placement) implements Outcome {}

  record DoesNotFit(Reason reason) implements Outcome {}

  /** The search was given up: the pod is not placed there, although it may fit. */
  record Undecided() implements Outcome {}

  /** Returns why the pod is not placed there; empty if it is. */
  default Optional<Reason> refusal() {
    return switch (this) {
      case Fits fits -> Optional.empty();
      case DoesNotFit(Reason reason) -> Optional.of(reason);
      case Undecided undecided -> Optional.of(Reason.UNDECIDED);
    };
  }
}
