package dev.tranche.extender.selection;

import java.util.Optional;

/** Of one pod. Safe on any thread. */
@FunctionalInterface
public interface NodeFilter {
  /** Empty where the pod's own fields admit the node, and of a node that is not known. */
  Optional<Exclusion> excludes(String node);
}
