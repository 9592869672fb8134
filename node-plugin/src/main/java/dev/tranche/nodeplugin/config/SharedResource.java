package dev.tranche.nodeplugin.config;

/**
 * One entry of {@code sharing.<strategy>.resources}.
 *
 * @param at its place in the file, for messages
 * @param name the resource name of the devices if they were not shared
 * @param unrenamed the resource name of their replicas by {@code renameByDefault} alone
 * @param advertised the resource name under which their replicas are advertised
 * @param replicas R, at least 1; 1: not shared
 * @param failRequestsGreaterThanOne refuse containers that request more than one replica
 */
public record SharedResource(
    String at,
    SharingStrategy strategy,
    String name,
    String unrenamed,
    String advertised,
    DeviceSelection devices,
    int replicas,
    boolean failRequestsGreaterThanOne) {
  public SharedResource {
    if (replicas < 1) {
      throw new IllegalArgumentException(at + ": replicas must be at least 1, not " + replicas);
    }
  }

  /** Returns this entry without {@code rename} and {@code devices}. */
  SharedResource withoutExtensions() {
    return new SharedResource(
        at,
        strategy,
        name,
        unrenamed,
        unrenamed,
        new DeviceSelection.All(),
        replicas,
        failRequestsGreaterThanOne);
  }
}
