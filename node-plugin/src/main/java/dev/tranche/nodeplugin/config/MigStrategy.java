package dev.tranche.nodeplugin.config;

/** How MIG devices are advertised. In lower case, the names are NVIDIA's values. */
public enum MigStrategy {
  /** A GPU is one device, whether MIG is on or not. */
  NONE,
  /** All MIG devices of the node are alike, and are advertised as {@code nvidia.com/gpu}. */
  SINGLE,
  /** Each profile is a resource of its own: {@code nvidia.com/mig-1g.5gb}. */
  MIXED
}
