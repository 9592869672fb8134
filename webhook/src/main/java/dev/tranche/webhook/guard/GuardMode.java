package dev.tranche.webhook.guard;

import java.util.Locale;
import java.util.Optional;

/** What the guard does about a pod that reaches for GPUs which it was not given. */
public enum GuardMode {
  /** Tells, and changes nothing. */
  AUDIT,
  /** Closes what a patch can close, and tells the rest. */
  VOID,
  /** Refuses the pod; a container that reaches for nothing gets the void as well. */
  DENY;

  public static Optional<GuardMode> parse(String text) {
    return switch (text) {
      case "audit" -> Optional.of(AUDIT);
      case "void" -> Optional.of(VOID);
      case "deny" -> Optional.of(DENY);
      default -> Optional.empty();
    };
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
