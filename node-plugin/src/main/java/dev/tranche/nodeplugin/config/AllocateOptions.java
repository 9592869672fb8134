package dev.tranche.nodeplugin.config;

import java.util.List;
import java.util.Set;

/**
 * Options of an Allocate answer, apart from the GPUs.
 *
 * @param deviceListStrategies at least one
 * @param passDeviceSpecs name the device nodes to the kubelet
 * @param driverRoot the driver's root folder on the host
 * @param devRoot the host folder that may hold dev, no trailing slash; empty: the root
 * @param driverRootInContainer where the driver root is mounted in this container
 * @param gdrcopy containers are started with GDRCopy
 * @param gds containers are started with GPUDirect Storage
 * @param mofed containers are started with MOFED
 */
public record AllocateOptions(
    Set<DeviceListStrategy> deviceListStrategies,
    DeviceIdStrategy deviceIdStrategy,
    boolean passDeviceSpecs,
    String driverRoot,
    String devRoot,
    String driverRootInContainer,
    boolean gdrcopy,
    boolean gds,
    boolean mofed,
    CdiOptions cdi,
    ImexOptions imex) {
  /** How a container's GPUs are identified to it. */
  public enum DeviceIdStrategy {
    UUID,
    INDEX
  }

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

  /**
   * Options that apply when a CDI strategy is chosen.
   *
   * @param annotationPrefix of the container annotation's key, such as {@code cdi.k8s.io/}
   * @param hookPath on the host, of the program that runs CDI hooks
   * @param featureFlags for the generation of the CDI spec
   * @param disabledHooks left out of the CDI spec; {@code all}: every hook
   */
  public record CdiOptions(
      String annotationPrefix,
      String hookPath,
      List<String> featureFlags,
      List<String> disabledHooks) {
    public CdiOptions {
      featureFlags = List.copyOf(featureFlags);
      disabledHooks = List.copyOf(disabledHooks);
    }

    /** Returns whether the CDI spec names this hook. */
    public boolean names(String hook) {
      return !disabledHooks.contains(hook) && !disabledHooks.contains("all");
    }
  }

  /**
   * IMEX channels that every GPU container gets.
   *
   * @param channelIds empty, or 0 alone
   * @param required a channel whose device node is missing is an error rather than left out
   */
  public record ImexOptions(List<Integer> channelIds, boolean required) {
    public ImexOptions {
      channelIds = List.copyOf(channelIds);
    }
  }

  public AllocateOptions {
    deviceListStrategies = Set.copyOf(deviceListStrategies);
  }

  public boolean byIndex() {
    return deviceIdStrategy == DeviceIdStrategy.INDEX;
  }
}
