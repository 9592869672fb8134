package dev.tranche.webhook.metrics;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The kind of a review, by the path of its request. */
public enum ReviewKind {
  /** Turns a pod's shares into replicas. */
  FRACTION,
  /** Keeps a pod from GPUs that it was not given. */
  GUARD,
  /** Writes back what an update of a pod states again, and one of the others had changed. */
  UPDATE,
  /** Not a review of ours: another path. */
  NONE;

  /** Path of the reviews of pods that request shares. */
  public static final String FRACTION_PATH = "/mutate/fraction";

  /** Path of the guard's reviews. */
  public static final String GUARD_PATH = "/mutate/guard";

  /** Path of the reviews of updates of pods. */
  public static final String UPDATE_PATH = "/mutate/update";

  public static ReviewKind of(@Nullable String path) {
    if (path == null) {
      return NONE;
    }
    return path.startsWith(FRACTION_PATH)
        ? FRACTION
        : path.startsWith(GUARD_PATH) ? GUARD : path.startsWith(UPDATE_PATH) ? UPDATE : NONE;
  }

  /** As metrics spell it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
