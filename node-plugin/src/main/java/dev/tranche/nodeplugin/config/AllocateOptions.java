package dev.tranche.nodeplugin.config;

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
  public AllocateOptions {
    deviceListStrategies = Set.copyOf(deviceListStrategies);
  }

  public boolean byIndex() {
    return deviceIdStrategy == DeviceIdStrategy.INDEX;
  }
}
