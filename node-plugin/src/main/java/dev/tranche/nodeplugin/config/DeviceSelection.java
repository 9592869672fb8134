package dev.tranche.nodeplugin.config;

import java.util.List;
import java.util.Set;

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
  record Listed(List<String> refs) implements DeviceSelection {
    public Listed {
      refs = List.copyOf(refs);
    }
  }

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
