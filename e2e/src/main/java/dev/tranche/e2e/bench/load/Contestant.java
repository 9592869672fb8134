package dev.tranche.e2e.bench.load;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Who places the pods. All but ours go by what is allocated alone. */
public enum Contestant {
  /** The default: measured load, and no share that real free memory cannot back. */
  OURS("--policy=load", "--memory-guard=enforce"),
  /** The GPU with most free replicas of all that fit. */
  SPREAD("--policy=spread", "--memory-guard=off"),
  /** Our packing, which measures nothing. */
  BINPACK("--policy=packed", "--memory-guard=off"),
  /** No extender: the node with most free replicas, and on it the GPU with most. */
  LEASTALLOCATED();

  @SuppressWarnings("ImmutableEnumChecker") // List.of is immutable.
  private final List<String> flags;

  Contestant(String... flags) {
    this.flags = List.of(flags);
  }

  /** The extender's; empty: none is there. */
  Optional<List<String>> flags() {
    return flags.isEmpty() ? Optional.empty() : Optional.of(flags);
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
