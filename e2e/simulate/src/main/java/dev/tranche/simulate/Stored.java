package dev.tranche.simulate;

/** An object of the API server. */
interface Stored {
  String uid();

  /** The name under which a list has it. */
  String key();

  long version();
}
