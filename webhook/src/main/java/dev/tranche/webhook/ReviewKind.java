package dev.tranche.webhook;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What a review asks for, by the path that it comes to. */
enum ReviewKind {
  /** A pod's shares become replicas. */
  FRACTION,
  /** A pod is kept from GPUs that it was not given. */
  GUARD,
  /** No review of ours: the path is another. */
  NONE;

  static ReviewKind of(@Nullable String path) {
    if (path == null) {
      return NONE;
    }
    return path.startsWith(FractionEntry.PATH)
        ? FRACTION
        : path.startsWith(GuardEntry.PATH) ? GUARD : NONE;
  }

  /** As metrics spell it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
