package dev.tranche.nodeplugin.mps;

/** A control daemon did not do what was asked; the message names it and what it said. */
final class MpsException extends Exception {
  private static final long serialVersionUID = 1L;

  MpsException(String message) {
    super(message);
  }
}
