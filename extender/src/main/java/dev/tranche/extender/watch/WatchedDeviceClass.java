package dev.tranche.extender.watch;

import java.util.List;

/**
 * The fields of a DeviceClass that we read.
 *
 * @param extendedResource that requests devices of the class; empty for none
 * @param expressions in CEL, which select devices
 */
public record WatchedDeviceClass(
    String key,
    String uid,
    String resourceVersion,
    String extendedResource,
    List<String> expressions)
    implements WatchedObject {
  @Override
  public boolean tracked() {
    return !extendedResource.isEmpty();
  }
}
