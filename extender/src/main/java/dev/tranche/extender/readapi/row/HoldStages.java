package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.Hold;

/** The stages of a hold, as the API names them. */
public final class HoldStages {
  private HoldStages() {}

  static String name(Hold hold) {
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
