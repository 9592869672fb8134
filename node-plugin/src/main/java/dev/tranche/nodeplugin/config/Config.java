package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;

/**
 * The checked configuration from the config file, the environment and the flags.
 *
 * @param failOnInitError exit if NVML does not start; otherwise wait for a driver
 * @param packed whether stand-alone GetPreferredAllocation picks shared replicas on as few GPUs as
 *     possible, else on as many, as NVIDIA's plugin does
 * @param mpsRoot the host folder of the MPS control daemons; empty: none
 * @param countsGpus whether the webhook has made a number of whole GPUs the replicas that a pod
 *     requests without an annotation
 * @param resources resource names of unshared devices
 */
public record Config(
    boolean failOnInitError,
    MigStrategy migStrategy,
    boolean packed,
    String mpsRoot,
    boolean countsGpus,
    AllocateOptions allocate,
    ResourceNames resources,
    Sharing sharing) {
  /** How MIG devices are advertised. In lower case, the names are NVIDIA's values. */
  public enum MigStrategy {
    /** A GPU is one device, whether MIG is on or not. */
    NONE,
    /** All MIG devices of the node are alike, and are advertised as {@code nvidia.com/gpu}. */
    SINGLE,
    /** Each profile is a resource of its own: {@code nvidia.com/mig-1g.5gb}. */
    MIXED
  }

  /**
   * Reads a configuration; all errors go to the findings.
   *
   * @param given flags and environment
   */
  public static Config of(Settings<Setting> given, ConfigFile file, ConfigErrors findings) {
    return new ConfigReader(given.withFile(file.values(), findings), findings).read(file);
  }
}
