package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Placement;
import org.jspecify.annotations.Nullable;

/** A pod of the {@link World}, and where its kubelet really put it. */
final class Pod {
  PodFacts facts;
  @Nullable Placement real;
  boolean admitted;

  /** Its kubelet runs it from a file; what the API server has is a mirror. */
  boolean fromFile;

  /** Whether the API server has it. */
  boolean shown = true;

  Pod(PodFacts facts) {
    this.facts = facts;
  }
}
