package dev.tranche.nodeplugin.config;

/** How an Allocate answer names the GPUs to the container runtime; several can be on at once. */
public enum DeviceListStrategy {
  ENVVAR,
  VOLUME_MOUNTS,
  CDI_ANNOTATIONS,
  CDI_CRI;

  public boolean cdi() {
    return this == CDI_ANNOTATIONS || this == CDI_CRI;
  }
}
