package dev.tranche.nodeplugin.mps;

/** A request to a control daemon failed; the message names the daemon and its answer. */
final class MpsException extends Exception {
  private static final long serialVersionUID = 1L;

  MpsException(String message) {
    super(message);
  }
}
