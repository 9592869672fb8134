package dev.tranche.nodeplugin.config;

import java.util.List;
import java.util.Set;

/** Which of a resource's GPUs or MIG devices an entry of a sharing section speaks of. */
public sealed interface DeviceSelection {
  /** Every one. */
  record All() implements DeviceSelection {}

  /** The first so many, in NVML's order. */
  record Count(int count) implements DeviceSelection {}

  /**
   * Those named.
   *
   * @param refs an index ({@code 0}), a MIG index ({@code 0:1}) or a uuid
   */
  record Listed(List<String> refs) implements DeviceSelection {
    public Listed {
      refs = List.copyOf(refs);
    }
  }

  /**
   * Whether a device is among them.
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
