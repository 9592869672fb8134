package dev.tranche.nodeplugin.config;

/** How a container's GPUs are identified to it. */
public enum DeviceIdStrategy {
  UUID,
  INDEX
}
