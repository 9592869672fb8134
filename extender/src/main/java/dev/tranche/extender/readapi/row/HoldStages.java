package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.Hold;

/** How far a hold is, as the API names it. */
public final class HoldStages {
  private HoldStages() {}

  static String shown(Hold hold) {
    if (hold.confirmed()) {
      return "Confirmed";
    }
    return switch (hold.stage()) {
      case TENTATIVE -> "Tentative";
      case BINDING -> "Binding";
      case BOUND -> "Bound";
    };
  }
}
