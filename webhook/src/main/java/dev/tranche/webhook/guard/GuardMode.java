package dev.tranche.webhook.guard;

import java.util.Locale;

/** What the guard does about a pod that reaches for GPUs which it was not given. */
public enum GuardMode {
  /** Reports findings, and changes nothing. */
  AUDIT,
  /** Removes what a patch can remove, and reports the rest. */
  VOID,
  /** Denies pods with findings. In all others, containers that request no GPU get the void. */
  DENY;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
