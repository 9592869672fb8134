package dev.tranche.extender.placement;

import java.util.Locale;

/** How measured memory counts, in addition to granted memory. */
public enum MemoryGuard {
  /** A GPU takes no share that its real free memory cannot back. */
  ENFORCE,
  /** Real free memory makes a GPU score better or worse, but never refuses a pod. */
  SCORE,
  /** Only granted memory counts. */
  OFF;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
