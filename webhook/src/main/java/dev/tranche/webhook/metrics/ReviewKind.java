package dev.tranche.webhook.metrics;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What a review asks for, by the path that it comes to. */
public enum ReviewKind {
  /** A pod's shares become replicas. */
  FRACTION,
  /** A pod is kept from GPUs that it was not given. */
  GUARD,
  /** No review of ours: the path is another. */
  NONE;

  /** Where the reviews come in that ask for shares. */
  public static final String FRACTION_PATH = "/mutate/fraction";

  /** Where the guard's come in. */
  public static final String GUARD_PATH = "/mutate/guard";

  public static ReviewKind of(@Nullable String path) {
    if (path == null) {
      return NONE;
    }
    return path.startsWith(FRACTION_PATH) ? FRACTION : path.startsWith(GUARD_PATH) ? GUARD : NONE;
  }

  /** As metrics spell it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
