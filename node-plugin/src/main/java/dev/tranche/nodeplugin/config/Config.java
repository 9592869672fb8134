package dev.tranche.nodeplugin.config;

/**
 * What a config file, the environment and the flags decide together, checked.
 *
 * @param failOnInitError end when NVML does not start; else wait for a driver
 * @param mpsRoot the host folder of the MPS control daemons; empty: none
 * @param resources how unshared devices are called
 */
public record Config(
    boolean failOnInitError,
    MigStrategy migStrategy,
    SharedAllocationPolicy sharedAllocationPolicy,
    String mpsRoot,
    AllocateOptions allocate,
    ResourceNames resources,
    Sharing sharing) {
  /**
   * Reads one; all that is wrong goes to the findings.
   *
   * @param given flags and environment
   */
  public static Config of(Settings given, ConfigFile file, ConfigErrors findings) {
    return new ConfigReader(given.over(file), findings).read(file);
  }
}
