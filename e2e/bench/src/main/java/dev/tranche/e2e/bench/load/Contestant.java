package dev.tranche.e2e.bench.load;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** A scheduler that places the pods. All but ours consider only what is allocated. */
public enum Contestant {
  /** The default: by measured load, and no share that exceeds the real free memory. */
  OURS("--policy=load", "--memory-guard=enforce"),
  /** The GPU with most free replicas of all that fit. */
  SPREAD("--policy=spread", "--memory-guard=off"),
  /** Our policy {@code packed}, which does not use measurements. */
  BINPACK("--policy=packed", "--memory-guard=off"),
  /** No extender: the node with most free replicas, and on it the GPU with most. */
  LEASTALLOCATED();

  @SuppressWarnings("ImmutableEnumChecker") // List.of is immutable.
  private final List<String> flags;

  Contestant(String... flags) {
    this.flags = List.of(flags);
  }

  /** Returns the extender's flags, or empty if there is no extender. */
  Optional<List<String>> flags() {
    return flags.isEmpty() ? Optional.empty() : Optional.of(flags);
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
