package dev.tranche.nodeplugin.config;

/** By what a container is told its GPUs. */
public enum DeviceIdStrategy {
  UUID,
  INDEX
}
