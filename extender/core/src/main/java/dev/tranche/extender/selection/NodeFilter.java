package dev.tranche.extender.selection;

import java.util.Optional;

/** Decides for one pod which nodes its own fields exclude. Thread-safe. */
@FunctionalInterface
public interface NodeFilter {
  /**
   * Returns why the node is excluded; empty if the pod's fields admit it, or if it is not known.
   */
  Optional<Exclusion> excludes(String node);
}
