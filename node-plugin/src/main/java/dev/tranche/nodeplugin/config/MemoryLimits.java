package dev.tranche.nodeplugin.config;

/** Whether shares of time-sliced GPUs get a memory limit of the driver's. */
public enum MemoryLimits {
  OFF,
  /** Where that is known to work on real GPUs, which nobody has reported yet: nowhere. */
  AUTO,
  /** A GPU whose memory cannot be limited takes no shares. */
  REQUIRED
}
