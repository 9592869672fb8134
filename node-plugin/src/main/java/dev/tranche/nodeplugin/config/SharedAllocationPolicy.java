package dev.tranche.nodeplugin.config;

/** How stand-alone GetPreferredAllocation picks among shared replicas, as NVIDIA's plugin does. */
public enum SharedAllocationPolicy {
  /** Over as many GPUs as possible. */
  DISTRIBUTED,
  /** On as few GPUs as possible. */
  PACKED
}
