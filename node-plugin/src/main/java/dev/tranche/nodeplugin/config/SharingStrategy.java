package dev.tranche.nodeplugin.config;

/** How containers on replicas of one GPU run at the same time. */
public enum SharingStrategy {
  /** Not shared: the GPU belongs to one container. */
  NONE,
  TIME_SLICING,
  MPS
}
