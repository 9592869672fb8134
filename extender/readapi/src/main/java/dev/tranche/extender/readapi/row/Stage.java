package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.CamelCase;
import dev.tranche.extender.ledger.Hold;

/** The stage of a hold, as the API names it. */
public enum Stage {
  TENTATIVE,
  BINDING,
  BOUND,
  CONFIRMED;

  static Stage of(Hold hold) {
    if (hold.confirmed()) {
      return CONFIRMED;
    }
    return switch (hold.stage()) {
      case TENTATIVE -> TENTATIVE;
      case BINDING -> BINDING;
      case BOUND -> BOUND;
    };
  }

  @Override
  public String toString() {
    return CamelCase.of(this);
  }
}
