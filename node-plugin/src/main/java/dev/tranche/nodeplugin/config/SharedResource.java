package dev.tranche.nodeplugin.config;

/**
 * One entry of {@code sharing.<strategy>.resources}.
 *
 * @param at where it stands in the file, for messages
 * @param name the resource that the devices would have unshared
 * @param unrenamed the resource that their replicas have by {@code renameByDefault} alone
 * @param advertised the resource that their replicas have
 * @param replicas R, at least 1; 1: not shared
 * @param failRequestsGreaterThanOne refuse containers that ask for more than one replica
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

  /** Without {@code rename} and {@code devices}. */
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
