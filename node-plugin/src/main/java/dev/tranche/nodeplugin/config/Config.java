package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;

/**
 * The checked configuration from the config file, the environment and the flags.
 *
 * @param failOnInitError exit if NVML does not start; otherwise wait for a driver
 * @param mpsRoot the host folder of the MPS control daemons; empty: none
 * @param resources resource names of unshared devices
 */
public record Config(
    boolean failOnInitError,
    MigStrategy migStrategy,
    SharedAllocationPolicy sharedAllocationPolicy,
    String mpsRoot,
    PlainRequests plainRequests,
    AllocateOptions allocate,
    ResourceNames resources,
    Sharing sharing) {
  /**
   * Reads a configuration; all errors go to the findings.
   *
   * @param given flags and environment
   */
  public static Config of(Settings<Setting> given, ConfigFile file, ConfigErrors findings) {
    return new ConfigReader(given.withFile(file.values()), findings).read(file);
  }
}
