package dev.tranche.webhook.guard;

import java.util.Locale;

/** What the guard does about a pod that reaches for GPUs which it was not given. */
public enum GuardMode {
  /** Reports findings, and changes nothing. */
  AUDIT,
  /** Removes what a patch can remove, and reports the rest. */
  VOID,
  /**
   * Containers that request no GPU get the void, and nothing else is changed or reported: policies
   * of the API server decide afterwards which pods are refused.
   */
  DENY;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
