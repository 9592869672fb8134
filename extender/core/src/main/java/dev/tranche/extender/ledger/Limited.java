package dev.tranche.extender.ledger;

/** Whether a pod's containers are limited to their share of a GPU's memory; the best one first. */
public enum Limited {
  YES,
  /** The pod asked for no limit. */
  OPTED_OUT,
  /** The limit of a container is larger than its share. */
  PARTLY,
  /** A container has no limit. */
  NO;

  /** Returns the one that leaves neighbours less protected. */
  public Limited orWorse(Limited other) {
    return compareTo(other) < 0 ? other : this;
  }

  /** Returns it as the API names it. */
  @Override
  public String toString() {
    return CamelCase.of(this);
  }
}
