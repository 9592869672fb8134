package dev.tranche.extender.placement;

import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How measured memory counts, in addition to granted memory. */
public enum MemoryGuard {
  /** A GPU takes no share that its real free memory cannot back. */
  ENFORCE,
  /** Real free memory makes a GPU score better or worse, but never refuses a pod. */
  SCORE,
  /** Only granted memory counts. */
  OFF;

  /** Parses a flag's value. */
  public static Optional<MemoryGuard> parse(@Nullable String name) {
    for (MemoryGuard guard : values()) {
      if (guard.toString().equals(name)) {
        return Optional.of(guard);
      }
    }
    return Optional.empty();
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
