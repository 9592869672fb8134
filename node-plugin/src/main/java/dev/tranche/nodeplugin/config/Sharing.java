package dev.tranche.nodeplugin.config;

import java.util.List;
import java.util.Set;

/** The entries that say how the GPUs of a node are shared. GPUs without an entry are not shared. */
public record Sharing(List<SharedResource> resources) {
  public static final Sharing NONE = new Sharing(List.of());

  /** How containers on replicas of one GPU run at the same time. */
  public enum SharingStrategy {
    /** Not shared: the GPU belongs to one container. */
    NONE,
    TIME_SLICING,
    MPS
  }

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

  /** The GPUs or MIG devices of a resource that an entry of a sharing section applies to. */
  public sealed interface DeviceSelection {
    /** All devices. */
    record All() implements DeviceSelection {}

    /** The first {@code count} devices, in NVML's order. */
    record Count(int count) implements DeviceSelection {}

    /**
     * The named devices.
     *
     * @param refs an index ({@code 0}), a MIG index ({@code 0:1}) or a uuid
     */
    record Listed(List<String> refs) implements DeviceSelection {}

    /**
     * Returns whether a device is selected.
     *
     * @param position from 0, among the devices of the resource
     * @param names the device's own: its index, or MIG index, and its uuid
     */
    default boolean selects(int position, Set<String> names) {
      return switch (this) {
        case All ignored -> true;
        case Count first -> position < first.count();
        case Listed listed -> listed.refs().stream().anyMatch(names::contains);
      };
    }
  }

  public boolean uses(SharingStrategy strategy) {
    return resources.stream().anyMatch(r -> r.strategy() == strategy && r.replicas() > 1);
  }
}
