package dev.tranche.extender.load;

import java.util.Locale;

/** What counts as the load of a GPU that MPS shares. */
public enum MpsLoad {
  /** The part of the time in which any kernel ran. */
  UTILIZATION,
  /** The larger of SM activity and memory bandwidth, where it is known. */
  ACTIVITY;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
