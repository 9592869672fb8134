package dev.tranche.nodeplugin.config;

/** How the replicas of one GPU come to run at the same time. */
public enum SharingStrategy {
  /** They do not: the GPU is one container's. */
  NONE,
  TIME_SLICING,
  MPS
}
